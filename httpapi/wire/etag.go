package wire

import (
	"net/http"
	"strings"
)

// EntityTags reads If-None-Match (RFC 9110 13.1.2): a list of entity tags,
// quotes and W/ included, or "*". Commas inside quotes belong to the tag.
// A bare word, which some clients send, is taken as a tag without quotes.
func EntityTags(h http.Header) []string {
	var tags []string
	for _, line := range h.Values("If-None-Match") {
		for line != "" {
			line = strings.TrimLeft(line, " \t,")
			if line == "" {
				break
			}
			start := 0
			if strings.HasPrefix(line, "W/") {
				start = 2
			}
			end := len(line)
			if start < len(line) && line[start] == '"' {
				if closing := strings.IndexByte(line[start+1:], '"'); closing >= 0 {
					end = start + closing + 2
				}
			} else if comma := strings.IndexByte(line, ','); comma >= 0 {
				end = comma
			}
			tags = append(tags, strings.TrimRight(line[:end], " \t"))
			line = line[end:]
		}
	}
	return tags
}

// MatchesETag reports whether one of the tags is the entity's by weak
// comparison, which is the rule for If-None-Match: W/ is ignored on both
// sides. "*" matches every entity that has a tag.
func MatchesETag(tags []string, etag string) bool {
	if etag == "" {
		return false
	}
	opaque := opaqueTag(etag)
	for _, tag := range tags {
		if tag == "*" || opaqueTag(tag) == opaque {
			return true
		}
	}
	return false
}

func opaqueTag(tag string) string {
	tag = strings.TrimPrefix(tag, "W/")
	if len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		return tag[1 : len(tag)-1]
	}
	return tag
}

// SetETag writes the header with exactly this spelling. Header.Set would write
// "Etag", which the Java client's look-up misses (iceberg-rest 1.8).
func SetETag(h http.Header, etag string) {
	if etag != "" {
		h["ETag"] = []string{etag}
	}
}
