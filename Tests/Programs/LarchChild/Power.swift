internal import Foundation
internal import LarchCrashSupport

/// `power-record <program> <seed> <directory>`: runs a program whose writes the recorder writes down.
func powerRecord(_ arguments: [String]) throws {
  guard arguments.count == 3, let seed = UInt64(arguments[1]) else { throw UsageError() }
  limitLifetime()
  guard let recorder = Recorder.current else { throw Mismatch("no recorder") }
  var program = try PowerPrograms.named(arguments[0], seed: seed)
  try program.run(in: arguments[2]) { mark in
    recorder.mark(mark.kind, mark.number, detail: mark.detail)
  }
}

/// `power-replay <recording> <plan> <directory> <beacon> <faults>`: checks the images of a plan,
/// and adds each bad one to a file. The beacon has the number of the current image and of the
/// checked ones.
func powerReplay(_ arguments: [String]) throws {
  guard arguments.count == 5 else { throw UsageError() }
  // The test watches a long run. If the test is gone, this ends the run.
  alarm(7200)
  // A store that is broken on purpose may lead LMDB to write without end; it then gets an error.
  try limitFiles(to: 1 << 30)
  let plan = try JSONDecoder().decode(PowerReplay.Plan.self, from: Data(arguments[1].utf8))
  let beacon = try Beacon(path: arguments[3])
  let log = try PowerLog(path: arguments[0])
  let faults = try FileHandle(forWritingTo: URL(fileURLWithPath: arguments[4]))
  try faults.seekToEnd()
  try PowerReplay(log, plan).run(in: arguments[2]) { number in
    beacon[.acknowledged(0)] = number
    beacon[.started(0)] += 1
  } found: { bad in
    try faults.write(contentsOf: try JSONEncoder().encode(bad) + Data("\n".utf8))
    // The store that it was seen in, as the checks left it.
    let kept = "\(arguments[4])-\(bad.image)"
    if plan.lies.isEmpty { try FileManager.default.copyItem(atPath: arguments[2], toPath: kept) }
  }
}
