internal import Foundation
internal import LarchTestSupport

/// Creates the images that power failures would have left of a recorded run, and lets the program
/// check them.
package struct PowerReplay {
  /// The images to create. They are numbered; image `n` is the same in each run with this plan.
  package struct Plan: Codable, Sendable {
    package var program: String
    package var seed: UInt64
    /// The maximum number of images of each moment.
    package var shapes = 5
    /// The remainder of the numbers of the images to check.
    package var step = 1
    package var remainder = 0
    /// Images before this number are skipped.
    package var start = 0
    /// The power fails within this number of first events.
    package var events = Int.max
    package var lies: PowerDisk.Lies = []

    package init(program: String, seed: UInt64) {
      self.program = program
      self.seed = seed
    }
  }

  package struct Bad: Codable, Sendable, CustomStringConvertible {
    package var image: Int
    package var event: Int
    package var shape: String
    package var reason: String

    package init(image: Int, event: Int, shape: String, reason: String) {
      self.image = image
      self.event = event
      self.shape = shape
      self.reason = reason
    }

    package var description: String { "image \(image), event \(event), \(shape): \(reason)" }
  }

  private let log: PowerLog
  private let plan: Plan

  package init(_ log: PowerLog, _ plan: Plan) {
    self.log = log
    self.plan = plan
  }

  /// Checks the images in the directory, one after the other. `before` gets the number of each one,
  /// so that it is known if this process dies of it. `found` gets each bad one while its files
  /// exist.
  package func run(
    in directory: String, before: (Int) -> Void, found: (Bad) throws -> Void
  ) throws {
    var program = try PowerPrograms.named(plan.program, seed: plan.seed)
    var number = 0
    var marks: [PowerMark] = []
    var disk = PowerDisk(log, lies: plan.lies)
    for (index, event) in log.events.prefix(plan.events).enumerated() {
      if case .mark(let mark) = event {
        marks.append(mark)
        continue
      }
      disk.begin(event)
      // The newest write may be incomplete, and a flush may have done nothing yet.
      var seen: Set<UInt64> = []
      for shape in 0..<(disk.isSettled ? 1 : plan.shapes) {
        var random = SeededGenerator(
          seed: plan.seed ^ (UInt64(index) &* 0x9E37_79B9_7F4A_7C15) ^ (UInt64(shape) << 56))
        let isMine = number % plan.step == plan.remainder && number >= plan.start
        defer { number += 1 }
        let shape = PowerShape.number(shape, &random)
        let image = disk.image(shape, &random)
        guard seen.insert(image.choices).inserted, isMine else { continue }
        before(number)
        try image.write(to: directory)
        do {
          try program.check(directory, after: marks)
        } catch {
          try found(
            Bad(image: number, event: index, shape: shape.description, reason: "\(error)"))
        }
      }
      disk.finish(event)
    }
  }
}

extension PowerImage {
  /// Replaces the contents of the directory by these files.
  package func write(to directory: String) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      unlink(directory + "/" + name)
    }
    for (name, bytes) in files {
      let file = open(directory + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Mismatch("cannot make \(directory)/\(name): \(errno)") }
      defer { close(file) }
      let written = bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
      guard written == bytes.count else { throw Mismatch("no room for \(directory)/\(name)") }
    }
  }
}
