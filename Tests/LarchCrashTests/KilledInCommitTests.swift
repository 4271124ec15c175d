import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// A writer is killed in the one call that makes its commit true, while others have the store open.
///
/// What was seen: a process was killed while the header of its commit was flushed. The header was
/// in the file, but LMDB had not yet published it to readers. The next process of the program read
/// the state before the commit, and wrote on top of the state after it: it met its own records in a
/// unique index.
@Suite("Killed in a commit", .enabled(if: Recorder.isAvailable))
struct KilledInCommitTests {
  @Test("The first read after an opening sees the state from which the first write continues")
  func opening() throws {
    let directory = try CrashDirectory()
    let beacon = try Beacon(path: directory.beacon)
    do {
      let store = try Store.forCrashes(at: directory.store)
      store.close()
    }
    // A reader that lives keeps LMDB from finding out by itself at the next opening.
    let reader = try Child(
      ["crash-reader", directory.store, directory.beacon, "1", "\(runSeed)", "1"],
      in: directory.path)
    try reader.waitUntilStarted(beacon, 1)
    var unacknowledged = 0
    for round in 1...12 {
      let writer = try Child(
        ["crash-writer", directory.store, directory.beacon, "0", "\(runSeed)"],
        in: directory.path,
        environment: try Recorder.environment(
          directory: directory.path, failing: (round, .meta, [.late, .killed])))
      #expect(try writer.wait() == .signal(SIGKILL), "\(writer.output)")

      let store = try Store.forCrashes(at: directory.store)
      defer { store.close() }
      let read = try store.read { try WriterModel.read(0, seed: runSeed, in: $0).progress }
      let written = try store.write { try WriterModel.read(0, seed: runSeed, in: $0).progress }
      #expect("\(read)" == "\(written)")
      if read.transactions > beacon[.acknowledged(0)] { unacknowledged += 1 }
    }
    // Else the writer was killed somewhere else, and nothing was tried.
    #expect(unacknowledged == 12)
    try reader.killHard()
  }
}
