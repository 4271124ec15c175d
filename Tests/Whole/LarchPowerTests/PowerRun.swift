import Foundation
import LarchCrashSupport
import LarchTestSupport

/// A program that was recorded once, and the images of power failures.
final class PowerRun {
  private let directory: CrashDirectory
  private let seed: UInt64
  private let program: String
  /// As many as there are processors to look at images.
  private static let workers = max(2, ProcessInfo.processInfo.activeProcessorCount)

  /// Images that were looked at.
  private(set) var images = 0
  private(set) var bad: [PowerReplay.Bad] = []
  /// How often the process that checked an image died or hung.
  private(set) var deaths = 0

  /// Runs the program and records it.
  init(_ program: String, seed: UInt64) throws {
    self.program = program
    self.seed = seed
    directory = try CrashDirectory()
    let folder = directory.path + "/recorded"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let child = try Child(
      ["power-record", program, "\(seed)", folder], in: directory.path,
      environment: try Recorder.environment(directory: folder, log: log))
    guard try child.wait() == .exit(0) else {
      throw Mismatch("\(program), seed \(seed): \(child.output)")
    }
  }

  private var log: String { directory.path + "/log" }

  /// Checks images of the recorded run, with another program if one is named. A process that dies more
  /// often than `deathLimit` is not started again.
  func replay(
    shapes: Int = 5, events: Int = .max, each step: Int = 1, lies: PowerDisk.Lies = [],
    as other: String? = nil, deathLimit: Int = .max
  ) throws {
    var plan = PowerReplay.Plan(program: other ?? program, seed: seed)
    plan.shapes = shapes
    plan.events = events
    plan.lies = lies
    plan.step = step * Self.workers
    var workers: [Worker] = []
    for number in 0..<Self.workers {
      plan.remainder = number * step
      workers.append(try Worker(log, plan, directory.path + "/worker-\(number)", deathLimit))
    }
    while true {
      var isDone = true
      for worker in workers where try worker.isRunning() { isDone = false }
      if isDone { break }
      usleep(2000)
    }
    for worker in workers {
      images += try worker.images
      bad += try worker.bad
      deaths += worker.deaths
      try worker.keep(bad: "\(NSTemporaryDirectory())/larch-power-\(program)-\(seed)")
    }
  }
}

/// A process that checks a share of the images, and its successors if it dies.
private final class Worker {
  private let log: String
  private var plan: PowerReplay.Plan
  private let folder: String
  /// The bad images, one on a line; kept ones are beside it.
  private let faults: String
  private let beacon: Beacon
  private var child: Child?
  private var lastImage = -1
  private var lastChange = Date()
  private(set) var deaths = 0
  private let deathLimit: Int

  init(
    _ log: String, _ plan: PowerReplay.Plan, _ folder: String, _ deathLimit: Int
  ) throws {
    self.deathLimit = deathLimit
    self.log = log
    self.plan = plan
    self.folder = folder
    faults = folder + "/faults"
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(
      atPath: folder + "/image", withIntermediateDirectories: true)
    _ = FileManager.default.createFile(atPath: faults, contents: nil)
    beacon = try Beacon(path: folder + "/beacon")
    try start()
  }

  private func start() throws {
    let text = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
    child = try Child(
      ["power-replay", log, text, folder + "/image", folder + "/beacon", faults], in: folder)
    lastChange = Date()
  }

  /// False when all images were looked at.
  func isRunning() throws -> Bool {
    guard let child else { return false }
    let image = beacon[.acknowledged(0)]
    if child.isRunning {
      if image != lastImage {
        lastImage = image
        lastChange = Date()
      } else if Date() > lastChange + 300 {
        child.signal(SIGKILL)
      }
      return true
    }
    self.child = nil
    let ending = try child.wait()
    if ending == .exit(0) { return false }
    // Exit codes are for faults of the replay itself.
    guard case .signal = ending else { throw Mismatch("\(ending): \(child.output)") }
    deaths += 1
    let bad = PowerReplay.Bad(
      image: image, event: -1, shape: "", reason: "the process ended with \(ending)")
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: faults))
    try handle.seekToEnd()
    try handle.write(contentsOf: try JSONEncoder().encode(bad) + Data("\n".utf8))
    if plan.lies.isEmpty {
      try FileManager.default.copyItem(atPath: folder + "/image", toPath: "\(faults)-\(image)")
    }
    if deaths > deathLimit { return false }
    plan.start = image + 1
    try start()
    return true
  }

  var images: Int { get throws { beacon[.started(0)] } }

  var bad: [PowerReplay.Bad] {
    get throws {
      try Data(contentsOf: URL(fileURLWithPath: faults)).split(separator: 10).map {
        try JSONDecoder().decode(PowerReplay.Bad.self, from: $0)
      }
    }
  }

  /// Keeps the first of the bad images where somebody can look at them after the test.
  func keep(bad place: String) throws {
    guard plan.lies.isEmpty, plan.step <= 8 else { return }
    for bad in try bad.prefix(3) {
      try? FileManager.default.copyItem(
        atPath: "\(faults)-\(bad.image)", toPath: "\(place)-\(bad.image)")
    }
  }
}
