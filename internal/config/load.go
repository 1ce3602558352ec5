package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Prefix stands before the name of every setting.
const Prefix = "ICECORE_"

// FileVariable names the optional file of settings.
const FileVariable = Prefix + "CONFIG_FILE"

// ours are variables of the project that are not settings of a server: they
// steer its tests, its tools, and the download of PostgreSQL by dev. Those that
// end with an underscore stand for all names that begin so.
var ours = []string{
	"CONFIG_FILE", "DATA", "PG_MIRROR", "HAMMER_TOKEN", "BIN", "LONG", "BENCH", "BENCH_", "FAULTS_", "TEST_",
}

// ValueError is a wrong value of one setting. Its text never holds the value
// of a secret.
type ValueError struct {
	Variable string // with prefix, as the operator wrote it
	Problem  string
}

func (e *ValueError) Error() string { return e.Variable + ": " + e.Problem }

// Load reads the settings from environ (KEY=VALUE, as os.Environ gives it)
// and from the file that path or ICECORE_CONFIG_FILE names, if any. All wrong
// values are reported together, as [ValueError]s joined in one error.
// Warnings are sentences about variables that look like settings and are none.
func Load(environ []string, path string) (Config, []string, error) {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, Prefix) {
			env[k] = v
		}
	}
	if path == "" {
		path = env[FileVariable]
	}
	var errs []error
	values := map[string]string{}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return Config{}, nil, fmt.Errorf("%s: %w", FileVariable, err)
		}
		file, err := parseFile(string(text))
		if err != nil {
			return Config{}, nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, k := range unknown(file) {
			errs = append(errs, &ValueError{k, "is no setting" + hint(k) + " (in " + path + ")"})
		}
		values = file
	}
	for k, v := range env {
		values[k] = v
	}
	var warnings []string
	for _, k := range unknown(env) {
		warnings = append(warnings, k+" is no setting"+hint(k)+"; it is ignored")
	}
	var c Config
	for _, s := range Settings() {
		if err := s.set(&c, values); err != nil {
			errs = append(errs, err)
		}
	}
	return c, warnings, errors.Join(errs...)
}

// Setting is one field of [Config] with what its tags say.
type Setting struct {
	Variable, Default, Doc, Group string
	Words                         []string // allowed values; empty allows all
	Min, Max                      string
	Form                          string // address or url; empty allows all texts
	Secret                        bool
	Type                          string // for the reference: text, number, size, duration, list
	index                         []int
}

// Settings lists all settings in the order of the struct.
func Settings() []Setting {
	var list []Setting
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		group := t.Field(i)
		for j := range group.Type.NumField() {
			f := group.Type.Field(j)
			s := Setting{
				Variable: Prefix + f.Tag.Get("env"), Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"),
				Group: group.Name, Min: f.Tag.Get("min"), Max: f.Tag.Get("max"), Form: f.Tag.Get("form"), index: []int{i, j},
			}
			if w := f.Tag.Get("oneof"); w != "" {
				s.Words = strings.Split(w, ",")
			}
			switch reflect.New(f.Type).Elem().Interface().(type) {
			case Secret:
				s.Type, s.Secret = "text", true
			case Bytes:
				s.Type = "size"
			case time.Duration:
				s.Type = "duration"
			case []string:
				s.Type = "list"
			case int, int64:
				s.Type = "number"
			case string:
				s.Type = "text"
			}
			list = append(list, s)
		}
	}
	return list
}

// set gives the field its value from values, or its default.
func (s Setting) set(c *Config, values map[string]string) error {
	variable := s.Variable
	text, given := values[variable]
	if s.Secret {
		if path, ok := values[variable+"_FILE"]; ok {
			if given {
				return &ValueError{variable, "is given twice, also as " + variable + "_FILE"}
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return &ValueError{variable + "_FILE", err.Error()}
			}
			variable, text, given = variable+"_FILE", strings.TrimRight(string(b), "\r\n"), true
		}
	}
	if !given || text == "" { // an empty variable is an unset one
		text = s.Default
	}
	if text == "" {
		return nil
	}
	if len(s.Words) > 0 && !slices.Contains(s.Words, text) {
		return &ValueError{variable, fmt.Sprintf("%q is not one of %s", text, strings.Join(s.Words, ", "))}
	}
	if problem := misses(s.Form, text); problem != "" {
		return &ValueError{variable, problem}
	}
	field := reflect.ValueOf(c).Elem().FieldByIndex(s.index)
	switch p := field.Addr().Interface().(type) {
	case *string:
		*p = text
	case *Secret:
		*p = Secret(text)
	case *[]string:
		for _, part := range strings.Split(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
	case *int, *int64:
		n, err := strconv.ParseInt(text, 10, field.Type().Bits())
		if err != nil {
			return &ValueError{variable, fmt.Sprintf("%q is not a whole number", text)}
		}
		if least, _ := strconv.ParseInt(s.Min, 10, 64); s.Min != "" && n < least {
			return &ValueError{variable, fmt.Sprintf("%d is less than %d", n, least)}
		}
		if most, _ := strconv.ParseInt(s.Max, 10, 64); s.Max != "" && n > most {
			return &ValueError{variable, fmt.Sprintf("%d is more than %d", n, most)}
		}
		field.SetInt(n)
	case *Bytes:
		n, err := ParseBytes(text)
		if err != nil {
			return &ValueError{variable, err.Error()}
		}
		if least, _ := ParseBytes(s.Min); n < least {
			return &ValueError{variable, fmt.Sprintf("%s is less than %s", n, least)}
		}
		*p = n
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return &ValueError{variable, fmt.Sprintf("%q is not a duration such as 30s or 5m", text)}
		}
		if least, _ := time.ParseDuration(s.Min); s.Min != "" && d < least {
			return &ValueError{variable, fmt.Sprintf("%s is less than %s", d, least)}
		}
		*p = d
	}
	return nil
}

// misses says what is wrong with a text that has to have a form, or nothing.
func misses(form, text string) string {
	switch form {
	case "address":
		_, port, err := net.SplitHostPort(text)
		if _, number := strconv.ParseUint(port, 10, 16); err != nil || number != nil {
			return fmt.Sprintf("%q is not an address and a port, such as 127.0.0.1:8181", text)
		}
	case "url":
		if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return "is not a URL such as http://localhost:4318" // it may hold a password
		}
	}
	return ""
}

// unknown lists the names that no setting has, sorted.
func unknown(values map[string]string) []string {
	known := map[string]bool{}
	for _, o := range ours {
		known[Prefix+o] = true
	}
	for _, s := range Settings() {
		known[s.Variable] = true
		if s.Secret {
			known[s.Variable+"_FILE"] = true
		}
	}
	var list []string
	for k := range values {
		if !known[k] && !slices.ContainsFunc(ours, func(o string) bool { return strings.HasSuffix(o, "_") && strings.HasPrefix(k, Prefix+o) }) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}
