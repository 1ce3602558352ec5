package kafka

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	mavenPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0"
	minimumJava = 17
	needed      = "the broker needs a JDK 17 or newer (java on the PATH or below JAVA_HOME) and, the first time, Maven (mvn on the PATH); " +
		"on Debian: apt-get install openjdk-17-jdk-headless maven"
)

//go:embed pom.xml
var pom []byte

//go:embed log4j2.properties
var logSettings []byte

// kit is what a broker is started from.
type kit struct {
	java string
	lib  string // folder of the jars, with the settings of the log beside them
}

// prepare finds Java, and fetches the jars unless the cache has them.
func prepare(ctx context.Context) (*kit, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("a folder for the broker's jars: %w", err)
	}
	sum := sha256.Sum256(append(append([]byte(nil), pom...), logSettings...))
	k := &kit{java: java, lib: filepath.Join(cache, "icecore", "kafka-"+hex.EncodeToString(sum[:8]))}
	if _, err := os.Stat(k.lib); err == nil {
		return k, nil
	}
	return k, k.fetch(ctx)
}

// fetch fills a folder of its own and renames it: a run that was ended in the
// middle, or two at a time, leave nothing half done.
func (k *kit) fetch(ctx context.Context) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%s: %w", needed, err)
	}
	if err := os.MkdirAll(filepath.Dir(k.lib), 0o755); err != nil {
		return err
	}
	next, err := os.MkdirTemp(filepath.Dir(k.lib), "kafka-next-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(next) }()
	if err := errors.Join(os.WriteFile(filepath.Join(next, "pom.xml"), pom, 0o644),
		os.WriteFile(filepath.Join(next, "log4j2.properties"), logSettings, 0o644)); err != nil {
		return err
	}
	maven := exec.CommandContext(ctx, mvn, "-B", "-q", "-Dstyle.color=never", "-f", filepath.Join(next, "pom.xml"),
		mavenPlugin+":copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+next)
	if out, err := maven.CombinedOutput(); err != nil {
		return fmt.Errorf("maven can't fetch the broker from Maven Central (or from the mirror in its settings.xml): %w\n%s", err, out)
	}
	if err := os.Rename(next, k.lib); err != nil {
		if _, there := os.Stat(k.lib); there == nil {
			return nil // somebody else was faster
		}
		return err
	}
	return nil
}

func findJava(ctx context.Context) (string, error) {
	name := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		name = filepath.Join(home, "bin", "java")
	}
	java, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", needed, err)
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %s -version: %w", needed, java, err)
	}
	if javaMajor(string(out)) < minimumJava {
		return "", fmt.Errorf("%s; %s is %s", needed, java, strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0]))
	}
	return java, nil
}

var versionPattern = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// javaMajor reads the output of java -version; 0 if it does not understand it.
func javaMajor(text string) int {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return n
}
