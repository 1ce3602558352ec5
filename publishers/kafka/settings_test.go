package kafka_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"github.com/icecore-catalog/icecore/publishers/kafka"
)

func TestSettingsDefaults(t *testing.T) {
	t.Parallel()
	s, err := kafka.ParseSettings(map[string]string{"brokers": "a:9092, [::1]:9093", "topic": "events"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Brokers) != 2 || s.Brokers[1] != "[::1]:9093" || s.Topic != "events" || !s.Create || s.Partitions != 0 || s.Replication != -1 ||
		s.Version != sarama.V2_8_0_0 || s.TLS || s.Mechanism != "" || s.ClientID != "icecore" || s.MaxMessageBytes != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSettingsThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	good := map[string]string{"brokers": "a:9092", "topic": "events"}
	for name, c := range map[string]struct {
		set   map[string]string
		wants string
	}{
		"unknown":                   {map[string]string{"acks": "1"}, `unknown setting "acks"`},
		"no brokers":                {map[string]string{"brokers": ""}, "setting brokers is required"},
		"broker without port":       {map[string]string{"brokers": "a"}, "setting brokers"},
		"broker with user":          {map[string]string{"brokers": "u:p@a:1"}, "setting brokers"},
		"port 0":                    {map[string]string{"brokers": "a:0"}, "setting brokers"},
		"no topic":                  {map[string]string{"topic": ""}, "setting topic is required"},
		"topic of dots":             {map[string]string{"topic": ".."}, "setting topic"},
		"topic with blanks":         {map[string]string{"topic": "a b"}, "setting topic"},
		"long topic":                {map[string]string{"topic": strings.Repeat("a", 250)}, "setting topic"},
		"no partitions":             {map[string]string{"partitions": "0"}, "setting partitions"},
		"replicas":                  {map[string]string{"replication-factor": "x"}, "setting replication-factor"},
		"small messages":            {map[string]string{"max-message-bytes": "10"}, "setting max-message-bytes"},
		"old version":               {map[string]string{"version": "2.6.0"}, "setting version"},
		"no version":                {map[string]string{"version": "new"}, "setting version"},
		"version of the future":     {map[string]string{"version": "99.0.0"}, "setting version"},
		"compression":               {map[string]string{"compression": "rar"}, "setting compression"},
		"secret with a path":        {map[string]string{"tls": "true", "tls-ca-secret": "../ca"}, "setting tls-ca-secret"},
		"CA without TLS":            {map[string]string{"tls-ca-secret": "ca"}, "needs tls=true"},
		"certificate without key":   {map[string]string{"tls": "true", "tls-certificate-secret": "c"}, "come together"},
		"key without certificate":   {map[string]string{"tls": "true", "tls-key-secret": "k"}, "come together"},
		"mechanism":                 {map[string]string{"sasl": "gssapi"}, "setting sasl"},
		"user without mechanism":    {map[string]string{"user": "u"}, "need sasl"},
		"mechanism without user":    {map[string]string{"sasl": "scram-sha-512"}, "needs user and password-secret"},
		"plain password in clear":   {map[string]string{"sasl": "plain", "user": "u", "password-secret": "p"}, "needs tls=true"},
		"a password for its secret": {map[string]string{"sasl": "scram-sha-512", "user": "u", "password-secret": "pa$$word"}, "setting password-secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := maps.Clone(good)
			maps.Copy(settings, c.set)
			_, err := kafka.ParseSettings(settings)
			if err == nil || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("%v, want %q", err, c.wants)
			}
			if err != nil && strings.Contains(err.Error(), "pa$$word") {
				t.Errorf("a value is repeated: %v", err)
			}
		})
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add("brokers=a:9092\ntopic=t\nversion=3.6.0\nsasl=scram-sha-256\nuser=u\npassword-secret=p")
	f.Add("brokers=\ntopic=\x00\npartitions=-1")
	f.Fuzz(func(t *testing.T, text string) {
		settings := map[string]string{}
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			settings[key] = value
		}
		s, err := kafka.ParseSettings(settings)
		if err != nil {
			return
		}
		if len(s.Brokers) == 0 || s.Topic == "" || s.Partitions < 0 || s.Mechanism == kafka.Plain && !s.TLS {
			t.Errorf("accepted %+v", s)
		}
	})
}
