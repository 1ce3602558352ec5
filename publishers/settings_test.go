package publishers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/publishers"
)

func TestSettingsAreReadStrictly(t *testing.T) {
	t.Parallel()
	r := publishers.NewReader(map[string]string{
		"text": "a b", "word": "two", "flag": "true", "number": "7", "time": "90s", "list": " a, b ,,c", "secret": "kafka-password",
	})
	if r.Required("text") != "a b" || r.Word("word", "one", "two") != "two" || !r.Flag("flag", false) || r.Number("number", 1, 0, 9) != 7 ||
		r.Duration("time", 0, time.Second, time.Hour) != 90*time.Second || strings.Join(r.List("list"), "|") != "a|b|c" || r.Secret("secret") != "kafka-password" {
		t.Error("a setting is read as something else")
	}
	if r.Text("absent", "x") != "x" || r.Word("absent", "one") != "one" || r.Flag("absent", true) != true || r.Number("absent", 5, 0, 9) != 5 ||
		r.Duration("absent", time.Minute, 0, time.Hour) != time.Minute || r.List("absent") != nil || r.Secret("absent") != "" {
		t.Error("a default is another one")
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestSettingsErrorsNameThemAllAndRepeatNoValue(t *testing.T) {
	t.Parallel()
	const value = "hunter2/../x"
	r := publishers.NewReader(map[string]string{
		"word": value, "flag": value, "number": value, "time": value, "secret": value, "odd": value, "control": "hunter2\n", "long": strings.Repeat("hunter2", 1000),
	})
	r.Word("word", "one")
	r.Flag("flag", true)
	r.Number("number", 1, 0, 9)
	r.Duration("time", 0, 0, time.Hour)
	r.Secret("secret")
	r.Text("control", "")
	r.Text("long", "")
	r.Required("absent")
	err := r.Err()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, key := range []string{"word", "flag", "number", "time", "secret", "odd", "control", "long", "absent"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not named in\n%v", key, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a value is repeated in\n%v", err)
	}
}
