package webhook

import (
	"testing"
	"time"
)

// The example of the specification's libraries.
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	key, err := parseKey([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	if err != nil {
		t.Fatal(err)
	}
	timestamp, signature := sign([][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if timestamp != "1614265330" || signature != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%s %s", timestamp, signature)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for secret, ok := range map[string]bool{
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw": true, "whsec_?": false, "whsec_c2hvcnQ=": false, "": false, "short": false,
		"any bytes of twenty-four!": true,
	} {
		if _, err := parseKey([]byte(secret)); (err == nil) != ok {
			t.Errorf("%q: %v", secret, err)
		}
	}
	a, err := parseKey([]byte("twenty-four bytes at least\r\n"))
	if err != nil || string(a) != "twenty-four bytes at least" {
		t.Errorf("%q, %v", a, err)
	}
}
