internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `recorder-check <store>`: proves that the recorder sees every kind of call that a store makes,
/// and that a call fails when requested.
func recorderCheck(_ arguments: [String]) throws {
  guard arguments.count == 1 else { throw UsageError() }
  limitLifetime()
  guard let recorder = Recorder.current else { throw Mismatch("no recorder") }
  let store = try Store.forCrashes(at: arguments[0])
  var progress = Progress(id: 1)
  func write() throws {
    // What did not change would not be written.
    progress.transactions += 1
    try store.write { tx throws in try tx.save(&progress) }
  }
  let atCreation = recorder.calls
  recorder.fail(call: 0)
  try write()
  let inCommit = recorder.calls
  // Pages, a flush, a meta page; creating has a file, names and the directory besides.
  guard inCommit >= 3, atCreation > inCommit + 3, recorder.failures == 0 else {
    throw Mismatch("\(atCreation) calls to make the store, \(inCommit) for a commit")
  }
  var failed: Recorder.Calls = []
  // How many calls a commit makes depends on the pages that are free.
  for call in 1... {
    recorder.fail(call: call)
    do {
      try write()
      guard recorder.failures == 0 else {
        throw Mismatch("call \(call) failed, its commit did not")
      }
      break
    } catch let error as LarchError {
      guard recorder.failures == 1 else {
        throw Mismatch("\(recorder.failures) calls failed: \(error)")
      }
    }
    failed.formUnion(recorder.failed)
    recorder.fail(call: 0)
    try write()
  }
  guard failed == [.data, .flush, .meta] else { throw Mismatch("\(failed) were made to fail") }
  // The commit must not reach the failing kind of call.
  recorder.watch(only: [.create])
  recorder.fail(call: 1, mode: .forever)
  try write()
  guard recorder.calls == 0 else { throw Mismatch("\(recorder.calls) files made by a commit") }
}
