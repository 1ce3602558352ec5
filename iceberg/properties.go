package iceberg

import (
	"strconv"
	"strings"
)

// Table properties that the catalog itself reads.
const (
	PropMetadataPath        = "write.metadata.path"
	PropMetadataCompression = "write.metadata.compression-codec"
	PropPreviousVersionsMax = "write.metadata.previous-versions-max"
	PropDeleteAfterCommit   = "write.metadata.delete-after-commit.enabled"
	PropGCEnabled           = "gc.enabled"

	propFormatVersion      = "format-version"
	propEncryptionKeyID    = "encryption.key-id"
	propParquetCompression = "write.parquet.compression-codec"
	propMetricsColumn      = "write.metadata.metrics.column."
	propCreatedAt          = "created-at"

	previousVersionsMaxDefault = 100
)

// reserved names describe the metadata; they are not stored as properties
// (Java's TableProperties.RESERVED_PROPERTIES).
func reserved(name string) bool {
	switch name {
	case propFormatVersion, "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
		"current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order":
		return true
	}
	return false
}

// propertiesChanged compares with the base: setting what is set already is no
// change.
func (b *builder) propertiesChanged() bool {
	if !b.properties.loaded || b.base == nil {
		return false
	}
	return b.properties.differs(b.base.properties)
}

// checkProperties holds the rules for properties that this request sets.
// What a stored document holds already is taken as it is.
func (b *builder) checkProperties() error {
	if !b.properties.loaded {
		return nil
	}
	for _, name := range []string{PropMetadataCompression, PropPreviousVersionsMax} {
		value, ok := b.property(name)
		if !ok {
			continue
		}
		if b.base != nil {
			if was, had := b.base.Property(name); had && was == value {
				continue
			}
		}
		if err := checkProperty(name, value); err != nil {
			return err
		}
	}
	return b.checkEncryption()
}

func checkProperty(name, value string) error {
	switch name {
	case PropMetadataCompression:
		if !strings.EqualFold(value, "none") && !strings.EqualFold(value, "gzip") && value != "" {
			return illegal("Invalid codec name: %s", clip([]byte(value)))
		}
	case PropPreviousVersionsMax:
		if _, err := strconv.ParseInt(value, 10, 32); err != nil {
			return invalid("Table property %s must have integer value", name)
		}
	}
	return nil
}

// checkEncryption keeps the table's key: another one, or none, would make the
// table unreadable. Clients hold the same rule.
func (b *builder) checkEncryption() error {
	now, has := b.property(propEncryptionKeyID)
	if b.base == nil {
		if has && b.formatVersion < 3 {
			return illegal("Invalid table property %s: encryption is not supported until v3", propEncryptionKeyID)
		}
		return nil
	}
	was, had := b.base.Property(propEncryptionKeyID)
	if had && (!has || now != was) {
		return illegal("Cannot change the encryption key of a table: %s", propEncryptionKeyID)
	}
	return nil
}

// checkCreateProperties holds the rules for new tables only (Java's
// PropertyUtil.validateCommitProperties and MetricsConfig).
func checkCreateProperties(list []property, sc *schema) error {
	for _, p := range list {
		switch p.name {
		case "commit.retry.num-retries", "commit.retry.min-wait-ms", "commit.retry.max-wait-ms",
			"commit.retry.total-timeout-ms", "commit.status-check.num-retries", "commit.status-check.min-wait-ms",
			"commit.status-check.max-wait-ms", "commit.status-check.total-timeout-ms":
			n, err := strconv.ParseInt(p.value, 10, 32)
			if err != nil {
				return invalid("Table property %s must have integer value", p.name)
			}
			if n < 0 {
				return invalid("Table property %s must have non negative integer value", p.name)
			}
		}
		if column, ok := strings.CutPrefix(p.name, propMetricsColumn); ok {
			if _, found := sc.findName(column); !found {
				return invalid("Invalid metrics config, could not find column %s from table prop %s in schema",
					clip([]byte(column)), clip([]byte(p.name)))
			}
		}
	}
	return nil
}
