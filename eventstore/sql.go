package eventstore

import "embed"

//go:embed sql/*.sql
var statements embed.FS

// statement returns the text of sql/<name>.sql. It runs while the package's
// variables are made, so a missing file is found by every test.
func statement(name string) string {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The statements. Each is prepared against a migrated database by a test.
var (
	sqlClaimCommit       = statement("claim_commit")
	sqlClaimIdempotency  = statement("claim_idempotency")
	sqlLookupIdempotency = statement("lookup_idempotency")
	sqlExpireIdempotency = statement("expire_idempotency")
	sqlHold              = statement("hold")
	sqlAssert            = statement("assert")
	sqlCreate            = statement("create")
	sqlAdvance           = statement("advance")
	sqlSeal              = statement("seal")
	sqlSealOne           = statement("seal_one")
	sqlAppendShared      = statement("append_shared")
	sqlBurn              = statement("burn")
	sqlOutcome           = statement("outcome")
	sqlOutcomes          = statement("outcomes")
	sqlFindCommit        = statement("find_commit")
	sqlHead              = statement("head")
	sqlPeek              = statement("peek")
	sqlRoundSettings     = statement("round_settings")
	sqlLockHead          = statement("lock_head")
	sqlOwnXID            = statement("own_xid")
	sqlScan              = statement("scan")
	sqlInsertEntries     = statement("insert_entries")
	sqlInsertNodes       = statement("insert_nodes")
	sqlUpdateHead        = statement("update_head")
	sqlSystem            = statement("system")
	sqlInsertEpoch       = statement("insert_epoch")
	sqlLogStream         = statement("log_stream")
	sqlWaitHead          = statement("wait_head")
	sqlReleaseHead       = statement("release_head")
	sqlInsertRepair      = statement("insert_repair")
	sqlEnsurePartitions  = statement("ensure_partitions")
	sqlPartitions        = statement("partitions")
	sqlReadEntries       = statement("read_entries")
	sqlReadStream        = statement("read_stream")
	sqlReadByID          = statement("read_by_id")
	sqlReadEvents        = statement("read_events")
	sqlReadSizes         = statement("read_sizes")
	sqlReadWanted        = statement("read_wanted")
	sqlReadSelected      = statement("read_selected")
	sqlEpochEnd          = statement("epoch_end")
	sqlPositions         = statement("positions")
	sqlPositionAt        = statement("position_at")
	sqlReadNodes         = statement("read_nodes")
	sqlReadLeaves        = statement("read_leaves")
	sqlKeepCheckpoint    = statement("keep_checkpoint")
	sqlLatestCheckpoint  = statement("latest_checkpoint")
	sqlReadCheckpoints   = statement("read_checkpoints")
	sqlReadEpochs        = statement("read_epochs")
	sqlVerifyEntries     = statement("verify_entries")
	sqlVerifyNodes       = statement("verify_nodes")
	sqlVerifyUnnumbered  = statement("verify_unnumbered")
	sqlVerifyPartitions  = statement("verify_partitions")
)
