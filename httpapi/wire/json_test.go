package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/icecore-catalog/icecore/catalog"
	"github.com/icecore-catalog/icecore/httpapi/wire"
)

func TestBodyMustBeOneWellFormedObject(t *testing.T) {
	t.Parallel()
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for name, body := range map[string]string{
		"empty":                 "",
		"white space":           " \n\t",
		"no object":             `[1]`,
		"a string":              `"x"`,
		"null":                  `null`,
		"cut off":               `{"a":1`,
		"trailing comma":        `{"a":1,}`,
		"trailing text":         `{"a":1} x`,
		"two texts":             `{}{}`,
		"single quotes":         `{'a':1}`,
		"leading zero":          `{"a":01}`,
		"plus":                  `{"a":+1}`,
		"dot":                   `{"a":1.}`,
		"exponent":              `{"a":1e}`,
		"NaN":                   `{"a":NaN}`,
		"control character":     "{\"a\":\"x\ny\"}",
		"bad escape":            `{"a":"\x"}`,
		"short escape":          `{"a":"\u12"}`,
		"invalid UTF-8":         "{\"a\":\"\xff\"}",
		"invalid UTF-8 in name": "{\"\xff\":1}",
		"byte order mark":       "\xef\xbb\xbf{}",
		"repeated name":         `{"a":1,"b":2,"a":3}`,
		"repeated below":        `{"a":[{"b":{"c":1,"c":1}}]}`,
		"repeated by escape":    `{"a":1,"\u0061":2}`,
		"repeated among many":   "{" + strings.Join(many, ",") + `,"k7":2}`,
		"repeated late":         "{" + strings.Join(many, ",") + `,"k39":2}`,
		"nested too deep":       `{"a":` + strings.Repeat("[", wire.MaxDepth) + strings.Repeat("]", wire.MaxDepth) + "}",
		"missing colon":         `{"a" 1}`,
		"name is no string":     `{1:2}`,
		"array without a comma": `{"a":[1 2]}`,
		"literal cut off":       `{"a":tru}`,
	} {
		if _, err := wire.ParseObject([]byte(body)); err == nil || catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("%s: %v, want a BadRequest", name, err)
		} else if !strings.HasPrefix(err.Error(), "Malformed request: ") {
			t.Errorf("%s: %q", name, err)
		}
	}
	for name, body := range map[string]string{
		"plain":                 ` { "a" : [ 1 , -0.5e+10 , true , null , "x\u00e9\ud83d\ude00\/" , { } , [ ] ] } `,
		"many":                  "{" + strings.Join(many, ",") + "}",
		"same name in siblings": `{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]}`,
		"deep":                  `{"a":` + strings.Repeat("[", wire.MaxDepth-1) + strings.Repeat("]", wire.MaxDepth-1) + "}",
		"big number":            `{"a":123456789012345678901234567890}`,
	} {
		if _, err := wire.ParseObject([]byte(body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMembersAreExactSlicesOfTheBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"updates": [ {"x" :1.0} ] ,"Name":"no","name":"yes","flag":true,"none":null,` +
		`"list":["a","b"],"map":{"k":"v"},"ints":[1,2],"n":7,"object":{"inner":{"name":"deep"}},"items":[{"name":"i0"}]}`)
	o, err := wire.ParseObject(body)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.Raw("updates")); got != `[ {"x" :1.0} ]` {
		t.Errorf("updates = %s", got)
	}
	if got, err := o.RequiredString("name"); err != nil || got != "yes" {
		t.Errorf("name = %q, %v: names are case sensitive", got, err)
	}
	if got, err := o.Bool("flag"); err != nil || !got {
		t.Errorf("flag = %v, %v", got, err)
	}
	if got, _, err := o.Strings("list"); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("list = %v, %v", got, err)
	}
	if got, err := o.StringMap("map"); err != nil || len(got) != 1 || got["k"] != "v" {
		t.Errorf("map = %v, %v", got, err)
	}
	if got, err := o.Ints("ints"); err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("ints = %v, %v", got, err)
	}
	if got, err := o.Int("n"); err != nil || got != 7 {
		t.Errorf("n = %v, %v", got, err)
	}
	outer, _, err := o.Object("object")
	if err != nil {
		t.Fatal(err)
	}
	inner, _, err := outer.Object("inner")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := inner.RequiredString("name"); err != nil || got != "deep" {
		t.Errorf("object.inner.name = %q, %v", got, err)
	}
	items, err := o.Objects("items")
	if err != nil || len(items) != 1 {
		t.Fatalf("items = %v, %v", items, err)
	}
	if got, err := items[0].RequiredString("name"); err != nil || got != "i0" {
		t.Errorf("items[0].name = %q, %v", got, err)
	}
}

func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"m":null}`, `{ "m" : null }`} {
		o, err := wire.ParseObject([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if o.Raw("m") != nil {
			t.Errorf("%s: Raw is not nil", body)
		}
		if _, sent, err := o.String("m"); sent || err != nil {
			t.Errorf("%s: String: %v, %v", body, sent, err)
		}
		if _, sent, err := o.Strings("m"); sent || err != nil {
			t.Errorf("%s: Strings: %v, %v", body, sent, err)
		}
		if got, err := o.Bool("m"); got || err != nil {
			t.Errorf("%s: Bool: %v, %v", body, got, err)
		}
		if got, err := o.StringMap("m"); got != nil || err != nil {
			t.Errorf("%s: StringMap: %v, %v", body, got, err)
		}
		if got, err := o.Array("m"); got != nil || err != nil {
			t.Errorf("%s: Array: %v, %v", body, got, err)
		}
		if _, sent, err := o.Object("m"); sent || err != nil {
			t.Errorf("%s: Object: %v, %v", body, sent, err)
		}
		if _, err := o.RequiredString("m"); err == nil || err.Error() != "Malformed request: m is missing" {
			t.Errorf("%s: RequiredString: %v", body, err)
		}
	}
}

func TestWrongTypesAreNamedByTheirPath(t *testing.T) {
	t.Parallel()
	o, err := wire.ParseObject([]byte(`{"m":1,"s":"x","l":["a",null],"d":{"k":1},"e":{"k":null},"z":"a\u0000","i":[1.5],"o":[1],"c":[{"identifier":{"name":5}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	fails := map[string]error{}
	_, _, fails["m must be a string"] = o.String("m")
	_, fails["s must be true or false"] = o.Bool("s")
	_, _, fails["l must be an array of strings"] = o.Strings("l")
	_, fails["d must be an object of strings"] = o.StringMap("d")
	_, fails["e must be an object of strings"] = o.StringMap("e")
	_, fails["s must be an array"] = o.Array("s")
	_, _, fails["s must be an object"] = o.Object("s")
	_, _, fails["a name holds a NUL character"] = o.String("z")
	_, fails["i must be an array of whole numbers"] = o.Ints("i")
	_, fails["s must be a whole number"] = o.Int("s")
	_, fails["o[0] must be an object"] = o.Objects("o")
	items, err := o.Objects("c")
	if err != nil {
		t.Fatal(err)
	}
	identifier, _, err := items[0].Object("identifier")
	if err != nil {
		t.Fatal(err)
	}
	_, _, fails["c[0].identifier.name must be a string"] = identifier.String("name")
	for want, err := range fails {
		if err == nil || err.Error() != "Malformed request: "+want || catalog.KindOf(err) != catalog.BadRequest {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The scanner accepts exactly what encoding/json accepts, minus invalid UTF-8,
// repeated names and depth.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, `{"a":[1,2,{"b":"c"}],"d":null}`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{`, `{"x":"\ud800"}`,
		`{"a":-0.1E-7}`, "{\"a\":\"\xc3\x28\"}", `{"a":"\"\\\/\b\f\n\r\t"}`, `[]`, ` `, `{"a":{"a":{"a":[]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		original := bytes.Clone(body)
		o, err := wire.ParseObject(body)
		if !bytes.Equal(body, original) {
			t.Fatal("the body was changed")
		}
		want := json.Valid(body) && utf8.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && !repeats(body)
		if (err == nil) != want {
			t.Fatalf("ParseObject(%q): %v, want accepted: %v", body, err, want)
		}
		if err != nil {
			return
		}
		var reference map[string]json.RawMessage
		if err := json.Unmarshal(body, &reference); err != nil {
			t.Fatal(err)
		}
		for name, raw := range reference {
			if got := o.Raw(name); string(raw) == "null" && got != nil || string(raw) != "null" && !bytes.Equal(got, raw) {
				t.Fatalf("member %q is %q, want %q", name, got, raw)
			}
		}
	})
}

// repeats reports whether an object of the text repeats a name, or the text is
// nested too deeply: the slow, obvious way.
func repeats(body []byte) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type frame struct {
		names map[string]bool // nil for an array
		value bool            // a value is expected next, not a name
	}
	var stack []*frame
	for {
		token, err := d.Token()
		if err == io.EOF {
			return false
		}
		if err != nil {
			return true
		}
		var top *frame
		if len(stack) > 0 {
			top = stack[len(stack)-1]
		}
		if name, ok := token.(string); ok && top != nil && top.names != nil && !top.value {
			if top.names[name] {
				return true
			}
			top.names[name], top.value = true, true
			continue
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, &frame{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, &frame{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				stack[len(stack)-1].value = false
			}
			continue
		}
		if len(stack) > wire.MaxDepth {
			return true
		}
		if top != nil {
			if _, opens := token.(json.Delim); !opens {
				top.value = false
			}
		}
	}
}

func BenchmarkParseObject(b *testing.B) {
	var body bytes.Buffer
	body.WriteString(`{"updates":[`)
	for i := range 20000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"action":"add-snapshot","snapshot":{"snapshot-id":%d,"timestamp-ms":17000000%05d,"summary":{"operation":"append","added-records":"10"},"manifest-list":"s3://bucket/path/to/metadata/snap-%d.avro"}}`, i, i, i)
	}
	body.WriteString("]}")
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(body.Len()))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := wire.ParseObject(body.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(body.Len()))
		for b.Loop() {
			json.Valid(body.Bytes())
		}
	})
}
