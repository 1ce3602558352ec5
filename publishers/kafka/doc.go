// Package kafka publishes to a topic of Apache Kafka.
//
// A message is an event in CloudEvents' binary mode: attributes as headers
// ("ce_id", "ce_sequence", …), data as the value, the object's id as the key, so
// that an object's events stay in one partition, in their order. With one
// partition, which is what a topic gets that is made here, the order is the log's.
// Partitions are chosen as Kafka's own client chooses them.
//
// A batch is one transaction, so consumers have to read with
// isolation.level=read_committed; others see messages that were taken back.
// Within it, sequence numbers and acknowledgements of all replicas guard against
// loss; and before it is committed, the offsets that the brokers assigned are
// compared with the batch's order, so that no retry of a client library can turn
// messages round (trouble reports of sarama tell of such). What does not fit is
// aborted whole and tried again. Retries are the relay's.
//
// # Who may publish
//
// All publishers of a destination share one transactional id, and Prepare begins
// with InitProducerID for it, which raises the id's epoch. From then on, brokers
// refuse whatever an earlier publisher sends: its messages, its new transactions
// and its commits (ErrFenced), also those that had been under way for long. It
// also settles what that publisher left: a transaction that is open is aborted,
// one whose commit had been decided is carried through, and InitProducerID
// answers only when the markers that say so stand in every partition.
//
// # When an answer is lost
//
// If the answer to a commit is lost, nobody can say whether the transaction
// happened. But it did or did not happen as a whole, and after the next Prepare
// that is decided and can change no more. The relay publishes the batch again, so
// a consumer sees it once, or twice: the second time whole, behind the first, with
// the same ids; never a part of it, never in another order, and nothing of a later
// batch before it. Kafka offers no append that depends on what stands last, so the
// package does not try to find out which it was: Publish never returns
// ErrMismatch, and consumers drop what they know by its id.
//
// A relay that has to know where a topic stands asks Last. It reads the newest
// committed event of each partition; which of them was published last is told by
// the producer's epoch and the header icecore_batch, a number that rises from
// transaction to transaction (an event's place in the log would not tell: a replay
// publishes early ones late). As batches are whole, everything before that event
// in its batch stands in the topic too.
//
// # What brokers refuse
//
// A message that is larger than the topic takes is found before it is sent. What a
// broker refuses for good, it refuses as a part of a whole batch of records and
// does not say which: then the batch is halved, each half a transaction of its
// own, until the refused message stands alone and all before it are committed. A
// missing right or a topic that is gone is no such refusal: an operator mends it.
//
// # What the topic has to be
//
// A topic is made where there is none (create-topic), or checked: one that is
// compacted would keep the last event of each object alone, and is refused. Give it
// three replicas and min.insync.replicas=2 where the cluster has them. Adding
// partitions moves objects to other partitions, where their older events are not:
// set partitions, and a topic that has another number is refused. The record's time
// stamp is that of publishing, since a topic forgets by it.
package kafka
