package kafka

import (
	"crypto/sha256"
	"crypto/sha512"
	"strings"
	"testing"
)

// The exchange of RFC 7677, section 3.
func TestScramFollowsTheRFC(t *testing.T) {
	t.Parallel()
	s := &scram{hash: sha256.New, nonce: "rOprNGfwEbeRWgbNEkqO"}
	if err := s.Begin("user", "pencil", ""); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ challenge, want string }{
		{"", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"},
		{
			"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
			"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
		},
		{"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ""},
	} {
		if s.Done() {
			t.Fatal("done too early")
		}
		got, err := s.Step(step.challenge)
		if err != nil || got != step.want {
			t.Fatalf("Step(%q) = %q, %v; want %q", step.challenge, got, err, step.want)
		}
	}
	if !s.Done() {
		t.Error("not done")
	}
}

func TestScramRefusesBrokersThatDoNotKnowThePassword(t *testing.T) {
	t.Parallel()
	const nonce = "rOprNGfwEbeRWgbNEkqO"
	first := "r=" + nonce + "more,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	for name, challenges := range map[string][]string{
		"another nonce":        {"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		"our nonce alone":      {"r=" + nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		"no salt":              {"r=" + nonce + "more,i=4096"},
		"salt that is none":    {"r=" + nonce + "more,s=?,i=4096"},
		"no iterations":        {"r=" + nonce + "more,s=W22Z,i=0"},
		"endless iterations":   {"r=" + nonce + "more,s=W22Z,i=2000000000"},
		"nothing":              {"x"},
		"wrong signature":      {first, "v=AAAA"},
		"no signature":         {first, "hello"},
		"error":                {first, "e=invalid-proof"},
		"success out of turn":  {"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
		"empty last challenge": {first, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scram{hash: sha512.New, nonce: nonce}
			if err := s.Begin("u", "p", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Step(""); err != nil {
				t.Fatal(err)
			}
			var err error
			for _, c := range challenges {
				_, err = s.Step(c)
			}
			if err == nil || s.Done() {
				t.Errorf("%v, done %v", err, s.Done())
			}
			if err != nil && strings.Contains(err.Error(), "pencil") {
				t.Error(err)
			}
		})
	}
}

func TestScramEscapesNamesAndDrawsNonces(t *testing.T) {
	t.Parallel()
	a, b := newScram(ScramSHA256), newScram(ScramSHA512)
	for _, s := range []*scram{a, b} {
		if err := s.Begin("a=b,c", "p", ""); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(s.bare, "n=a=3Db=2Cc,r=") || len(s.nonce) < 32 || strings.Contains(s.nonce, ",") {
			t.Errorf("%q", s.bare)
		}
	}
	if a.nonce == b.nonce {
		t.Error("one nonce twice")
	}
}
