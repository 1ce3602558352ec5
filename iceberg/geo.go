package iceberg

import (
	"regexp"
	"strings"
)

// The geospatial types of v3 carry a coordinate reference system, geography
// also the algorithm that draws the edges between points.

const (
	defaultCRS       = "OGC:CRS84"
	defaultAlgorithm = "spherical"
)

var (
	geometryPattern  = regexp.MustCompile(`(?i)^geometry\s*(\(\s*([^)]*?)\s*\))?$`)
	geographyPattern = regexp.MustCompile(`(?i)^geography\s*(\(\s*([^,)]*?)\s*(,\s*(\w*)\s*)?\))?$`)
)

// algorithms are the edge interpolation algorithms (Iceberg spec, geography).
var algorithms = map[string]bool{"spherical": true, "vincenty": true, "thomas": true, "andoyer": true, "karney": true}

// geospatial reads a geometry or geography type. Its name spells out what is
// not the default, so that equal types have equal names. A problem is why the
// type cannot enter a table; its name is then the text.
func geospatial(text string) (name string, ok bool, problem error) {
	if m := geometryPattern.FindStringSubmatch(text); m != nil {
		switch {
		case m[1] != "" && m[2] == "":
			return text, true, illegal("Invalid CRS: (empty string)")
		case m[1] == "" || strings.EqualFold(m[2], defaultCRS):
			return "geometry", true, nil
		}
		return "geometry(" + m[2] + ")", true, nil
	}
	m := geographyPattern.FindStringSubmatch(text)
	if m == nil {
		return "", false, nil
	}
	crs, algorithm := m[2], strings.ToLower(m[4])
	switch {
	case m[1] != "" && crs == "":
		return text, true, illegal("Invalid CRS: (empty string)")
	case m[3] != "" && !algorithms[algorithm]:
		return text, true, illegal("Invalid edge interpolation algorithm: %s", clip([]byte(m[4])))
	}
	if crs == "" || strings.EqualFold(crs, defaultCRS) {
		crs = defaultCRS
	}
	switch {
	case algorithm != "" && algorithm != defaultAlgorithm:
		return "geography(" + crs + ", " + algorithm + ")", true, nil
	case crs != defaultCRS:
		return "geography(" + crs + ")", true, nil
	}
	return "geography", true, nil
}
