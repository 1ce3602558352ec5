package config

import (
	"fmt"
	"strings"
)

// groupTitles are the headings of the reference.
var groupTitles = map[string]string{
	"Database": "Database", "HTTP": "HTTP", "Auth": "Who may ask", "Catalog": "Catalog",
	"Log": "The log", "Publish": "The event stream", "Jobs": "Jobs", "Telemetry": "Telemetry",
}

// Reference is docs/reference/config.md: all settings, from the struct tags.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Settings

<!-- Generated from internal/config by ./task gen. Do not edit. -->

` + "`icecore serve`" + ` and the operating commands read their settings from the environment, and from the
file that ` + "`" + FileVariable + "` or `--config`" + ` names: one ` + "`NAME=value`" + ` a line, as in systemd's EnvironmentFile.
The environment wins over the file, and an empty variable counts as not set. A wrong value stops the start with
an error that names the variable; all of them are reported at once. A name that begins with ` + "`" + Prefix + "`" + ` and is no
setting is an error in the file, and a warning in the environment.

Secrets are never printed. Each can be given as a file instead: append ` + "`_FILE`" + ` to its name.
`)
	group := ""
	for _, s := range Settings() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n", groupTitles[group])
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n", s.Variable)
		facts := []string{s.Type}
		if s.Secret {
			facts = append(facts, "secret")
		}
		if len(s.Words) > 0 {
			facts = append(facts, "one of `"+strings.Join(s.Words, "`, `")+"`")
		}
		if s.Default != "" {
			facts = append(facts, "default `"+s.Default+"`")
		}
		switch s.Form {
		case "address":
			facts = append(facts, "an address and a port")
		case "url":
			facts = append(facts, "a URL of http or https")
		}
		if s.Min != "" {
			facts = append(facts, "at least `"+s.Min+"`")
		}
		if s.Max != "" {
			facts = append(facts, "at most `"+s.Max+"`")
		}
		fmt.Fprintf(&b, "%s.\n\n%s\n", strings.Join(facts, ", "), s.Doc)
	}
	return b.String()
}
