package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/icecore-catalog/icecore/catalog"
)

// Query is a decoded query string. Unlike [net/url.Values] from
// URL.Query, nothing malformed is dropped silently, and a semicolon is an
// ordinary character. Names of parameters count in any letter case: clients and
// the proxies before them spell them as they like. The keys are lower case; ask
// through the methods.
type Query map[string][]string

// ParseQuery decodes the query string of a request by the rules of forms.
func ParseQuery(r *http.Request) (Query, error) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	q := Query{}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		k, err := url.QueryUnescape(key)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return nil, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: the query holds an invalid escape", Cause: err}
		}
		k = strings.ToLower(k)
		q[k] = append(q[k], value)
	}
	return q, nil
}

// Values returns all values of a parameter in their order, for those that may
// be repeated. The texts are not checked.
func (q Query) Values(name string) []string { return q[strings.ToLower(name)] }

// Lookup returns the value of a parameter and whether it was sent, empty or
// not. A parameter that was sent twice with different values is an error of
// kind BadRequest: nobody could say which one counts.
func (q Query) Lookup(name string) (value string, sent bool, err error) {
	values := q.Values(name)
	if len(values) == 0 {
		return "", false, nil
	}
	for _, v := range values {
		if v != values[0] {
			return "", false, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: parameter " + name + " was given more than once"}
		}
		if err := checkText(v); err != nil {
			return "", false, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: parameter " + name + " is not text"}
		}
	}
	return values[0], true, nil
}

// String returns the value of a parameter, empty if it was not sent.
func (q Query) String(name string) (string, error) {
	value, _, err := q.Lookup(name)
	return value, err
}

// Bool returns a truth value in any letter case (PyIceberg writes True), false
// if it was not sent or is empty.
func (q Query) Bool(name string) (bool, error) {
	value, _, err := q.Lookup(name)
	switch {
	case err != nil:
		return false, err
	case value == "" || strings.EqualFold(value, "false"):
		return false, nil
	case strings.EqualFold(value, "true"):
		return true, nil
	}
	return false, &catalog.Error{Kind: catalog.BadRequest, Message: "Malformed request: parameter " + name + " must be true or false"}
}

// Page returns the paging parameters. token is nil unless pageToken was sent:
// only then does the client page (iceberg-rest 1.6). A pageSize below 1 is an
// error, with or without a token.
func (q Query) Page() (token *string, size *int, err error) {
	value, sent, err := q.Lookup("pageToken")
	if err != nil {
		return nil, nil, err
	}
	if sent {
		token = &value
	}
	text, sent, err := q.Lookup("pageSize")
	if err != nil || !sent || text == "" {
		return token, nil, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return nil, nil, &catalog.Error{Kind: catalog.BadRequest, Message: fmt.Sprintf("Invalid pageSize: %q is not a whole number of at least 1", text)}
	}
	return token, &n, nil
}
