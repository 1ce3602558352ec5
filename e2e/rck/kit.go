package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	javaPackage   = "org.apache.iceberg.rest."
	suiteClass    = javaPackage + "RESTCompatibilityKitSuite"
	extendedClass = javaPackage + "ExtendedCatalogTests"
	mavenPlugin   = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0"
	minimumJava   = 17
)

// kitTimeout bounds one run of the kit, which takes a minute or two.
const kitTimeout = 20 * time.Minute

// flags are the kit's switches, each set to what Icecore is: bare names are
// properties of the Java client, for the kit copies all of the JVM's
// properties into those.
var flags = []string{
	"rck.local=false", // do not start the kit's own server
	"rck.requires-namespace-create=true",
	"rck.supports-serverside-retry=true",
	"rck.supports-names-with-dot=true",
	// The kit asks for file:/tmp/… and wants that back letter by letter unless
	// this is set. Icecore answers file:///tmp/…, the same place in the one
	// spelling that all engines read.
	"rck.overrides-requested-location=true",
	// Of the subclass.
	"extended.nested=true",
	"extended.slash=true",
}

//go:embed pom.xml java
var sources embed.FS

// kit is the compatibility kit, ready to run.
type kit struct {
	java      string
	classPath string
}

// prepareKit finds Java and Maven, resolves the class path and compiles the
// subclass. Jars are kept in the cache: a second run needs no network.
func prepareKit(ctx context.Context, cache string, log io.Writer) (*kit, error) {
	java, javac, mvn, err := findTools(ctx)
	if err != nil {
		return nil, err
	}
	pom, err := sources.ReadFile("pom.xml")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(pom)
	home := filepath.Join(cache, "kit-"+hex.EncodeToString(sum[:8]))
	if err := unpack(home); err != nil {
		return nil, err
	}
	classPath, err := resolve(ctx, mvn, cache, home, log)
	if err != nil {
		return nil, err
	}
	classes, err := compile(ctx, javac, home, classPath)
	if err != nil {
		return nil, err
	}
	return &kit{java: java, classPath: classes + string(os.PathListSeparator) + classPath}, nil
}

// resolve returns the class path of the kit, and fetches it the first time.
func resolve(ctx context.Context, mvn, cache, home string, log io.Writer) (string, error) {
	list := filepath.Join(home, "classpath.txt")
	if text, err := os.ReadFile(list); !errors.Is(err, fs.ErrNotExist) {
		return string(text), err
	}
	fmt.Fprintf(log, "fetching the kit into %s (100 MB, once)\n", cache)
	maven := exec.CommandContext(ctx, mvn, "-B", "-q", "-Dstyle.color=never", "-Dmaven.repo.local="+filepath.Join(cache, "m2"),
		"-f", filepath.Join(home, "pom.xml"), mavenPlugin+":build-classpath", "-Dmdep.outputFile="+list+".new")
	if out, err := maven.CombinedOutput(); err != nil {
		return "", fmt.Errorf("maven can't fetch the kit from Maven Central (or from the mirror in its settings.xml): %w\n%s", err, out)
	}
	if err := os.Rename(list+".new", list); err != nil {
		return "", err
	}
	text, err := os.ReadFile(list)
	return string(text), err
}

// compile returns the folder with the classes of ours.
func compile(ctx context.Context, javac, home, classPath string) (string, error) {
	classes := filepath.Join(home, "classes")
	args := []string{"-proc:none", "-nowarn", "-cp", classPath, "-d", classes}
	err := filepath.WalkDir(filepath.Join(home, "java"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".java") {
			args = append(args, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, javac, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the subclass: %w\n%s", err, out)
	}
	return classes, nil
}

// unpack writes pom and sources anew.
func unpack(home string) error {
	if err := errors.Join(os.RemoveAll(filepath.Join(home, "java")), os.RemoveAll(filepath.Join(home, "classes"))); err != nil {
		return err
	}
	return fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(home, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

const needed = "the compatibility kit needs a JDK 17 or newer (java and javac, on the PATH or below JAVA_HOME) and Maven 3.6 or newer (mvn on the PATH); " +
	"on Debian: apt-get install openjdk-17-jdk-headless maven"

// findTools looks for the JDK below JAVA_HOME first, as Maven does.
func findTools(ctx context.Context) (java, javac, mvn string, err error) {
	find := func(name string) (string, error) {
		if home := os.Getenv("JAVA_HOME"); home != "" && name != "mvn" {
			return exec.LookPath(filepath.Join(home, "bin", name))
		}
		return exec.LookPath(name)
	}
	for name, path := range map[string]*string{"java": &java, "javac": &javac, "mvn": &mvn} {
		if *path, err = find(name); err != nil {
			return "", "", "", fmt.Errorf("%s: %w", needed, err)
		}
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", "", "", fmt.Errorf("%s: %s -version: %w", needed, java, err)
	}
	if major := javaMajor(string(out)); major < minimumJava {
		return "", "", "", fmt.Errorf("%s; %s is %s", needed, java, strings.TrimSpace(strings.SplitN(string(out), "\n", 2)[0]))
	}
	return java, javac, mvn, nil
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

// run lets the kit loose on the catalog and returns each test's outcome. A
// failed test is no error; a kit that did not run is.
func (k *kit) run(ctx context.Context, url, out string, selectors []string) ([]testCase, error) {
	ctx, cancel := context.WithTimeout(ctx, kitTimeout)
	defer cancel()
	args := []string{
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Duri=" + url, "-Dwarehouse=" + warehouse,
		"-Djava.io.tmpdir=" + filepath.Join(warehouseRoot, scratch),
	}
	for _, f := range flags {
		args = append(args, "-D"+f)
	}
	args = append(args, "-cp", k.classPath, "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors",
		"--include-classname=.*", "--fail-if-no-tests", "--details=tree", "--reports-dir="+out)
	cmd := exec.CommandContext(ctx, k.java, append(args, selectors...)...)
	console, err := os.Create(filepath.Join(out, "console.txt"))
	if err != nil {
		return nil, err
	}
	defer console.Close()
	cmd.Stdout, cmd.Stderr = console, console
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the kit did not end: %w", context.Cause(ctx))
	}
	cases, err := readReports(out)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("the kit ran no test (see %s): %v", console.Name(), runErr) //nolint:errorlint // it may be nil
	}
	if runErr != nil && len(failed(cases)) == 0 {
		return nil, fmt.Errorf("the kit failed although none of its tests did (see %s): %w", console.Name(), runErr)
	}
	return cases, nil
}
