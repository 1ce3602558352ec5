package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/icecore-catalog/icecore/catalog"
)

// describeManagement puts an event of the management API into words, if it is
// one that has something to tell beside its name.
func describeManagement(event catalog.Event) (described, bool) {
	switch v := event.(type) {
	case *catalog.ProjectRenamed:
		return described{word(v.To), "was " + word(v.From)}, true
	case *catalog.ProjectDeleted:
		return described{word(v.Name), ""}, true
	case *catalog.WarehouseRenamed:
		return described{word(v.To), "was " + word(v.From)}, true
	case *catalog.WarehouseActivated:
		return described{word(v.Name), ""}, true
	case *catalog.WarehouseDeactivated:
		return described{word(v.Name), "hidden from its clients"}, true
	case *catalog.WarehouseDeleteProfileUpdated:
		if v.ExpirationSeconds == nil {
			return described{word(v.Name), "a drop is for good"}, true
		}
		return described{word(v.Name), fmt.Sprintf("a drop can be undone for %s", time.Duration(*v.ExpirationSeconds)*time.Second)}, true
	case *catalog.WarehouseUndoWindowUpdated:
		if v.UndoWindowSeconds == nil {
			return described{word(v.Name), "former states are kept as long as the server says"}, true
		}
		return described{word(v.Name), fmt.Sprintf("former states are kept for %s", time.Duration(*v.UndoWindowSeconds)*time.Second)}, true
	case *catalog.CleanUpStarted:
		return described{table(v.TableName), fmt.Sprintf("%d metadata files go", len(v.Files))}, true
	case *catalog.CleanUpFinished:
		return described{table(v.TableName), fmt.Sprintf("%d metadata files deleted, %d kept", v.Deleted, len(v.Kept))}, true
	case *catalog.WarehouseFormatVersionsUpdated:
		allowed := strings.Trim(fmt.Sprint(v.AllowedFormats), "[]")
		return described{word(v.Name), fmt.Sprintf("format v%d by default, of %s", v.DefaultFormat, allowed)}, true
	case *catalog.WarehouseProtectionUpdated:
		return described{word(v.Name), protection(v.Protected)}, true
	case *catalog.WarehouseDeleted:
		if v.Forced {
			return described{word(v.Name), "although it was protected"}, true
		}
		return described{word(v.Name), ""}, true
	case *catalog.DestinationCreated:
		return described{word(v.Name), fmt.Sprintf("%s, after position %d", small(v.Kind, 32), v.Start.After)}, true
	case *catalog.DestinationUpdated:
		if v.From != v.Name {
			return described{word(v.Name), "was " + word(v.From)}, true
		}
		return described{word(v.Name), ""}, true
	case *catalog.DestinationPaused:
		return described{word(v.Name), ""}, true
	case *catalog.DestinationResumed:
		return described{word(v.Name), ""}, true
	case *catalog.DestinationReplayed:
		return described{word(v.Name), fmt.Sprintf("after position %d", v.Start.After)}, true
	case *catalog.DestinationSkipped:
		return described{word(v.Name), fmt.Sprintf("the refused event at position %d", v.Position)}, true
	case *catalog.DestinationRetried:
		return described{word(v.Name), fmt.Sprintf("the parked event at position %d", v.Position)}, true
	case *catalog.DestinationRemoved:
		return described{word(v.Name), ""}, true
	case *catalog.TablePurgeCancelled:
		return described{table(v.TableName), calledOff(v.Started)}, true
	case *catalog.ViewPurgeCancelled:
		return described{table(v.TableName), calledOff(v.Started)}, true
	case *catalog.WarehouseQueueConfigured:
		return described{word(v.Name), "queue " + v.Queue}, true
	case *catalog.ProjectQueueConfigured:
		return described{word(v.Name), "queue " + v.Queue}, true
	case *catalog.NamespaceProtectionUpdated:
		return described{levels(v.Namespace), protection(v.Protected)}, true
	case *catalog.TableProtectionUpdated:
		return described{table(v.TableName), protection(v.Protected)}, true
	case *catalog.ViewProtectionUpdated:
		return described{table(v.TableName), protection(v.Protected)}, true
	}
	return described{}, false
}

func calledOff(started bool) string {
	if started {
		return "files that are left stay"
	}
	return "files stay"
}

func protection(on bool) string {
	if on {
		return "protected"
	}
	return "no longer protected"
}
