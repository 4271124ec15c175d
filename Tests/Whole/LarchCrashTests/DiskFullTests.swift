import Foundation
import Larch
import LarchCrashSupport
import LarchTestSupport
import Testing

/// A full disk: an error, nothing lost, and work continues when there is space again.
@Suite("Disk full", .serialized)
struct DiskFullTests {
  @Test("At whatever size a file stops growing, nothing is lost", arguments: [false, true])
  func fileSizeLimit(opensLimited: Bool) throws {
    let directory = try CrashDirectory()
    let count = amount("LARCH_FILE_LIMITS", 64)
    var random = SeededGenerator(seed: runSeed)
    // Not only whole pages: LMDB must notice a write that was cut.
    let limits = (1...count).map { number -> Int in
      let size = number * (opensLimited ? 6144 : 12_288)
      return random.below(3) == 0 ? size + random.below(4096) : size / 4096 * 4096
    }
    let child = try Child(
      ["file-limit", directory.path + "/limited", "\(runSeed)", opensLimited ? "1" : "0"]
        + limits.map(String.init), in: directory.path)
    let ending = try child.wait()
    #expect(ending == .exit(0), "seed \(runSeed): \(child.output)")
    let lines = child.output.split(separator: "\n")
    #expect(lines.count == count, "seed \(runSeed): \(child.output)")
    func sum(_ name: String) -> Int {
      lines.map { line in
        line.split(separator: ",").flatMap { $0.split(separator: ": ") }
          .first { $0.contains(name) }.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
      }.reduce(0, +)
    }
    print(
      "file limits, opened \(opensLimited ? "under" : "before") the limit: \(lines.count) sizes,",
      "\(sum("refused to open")) openings and \(sum(" refused")) writes refused,",
      "\(sum(" deletes")) deletes done and \(sum("refused deletes")) refused, seed \(runSeed)")
    #expect(sum(" refused") >= count / 2)
    #expect(sum(" deletes") > 0)
  }

  @Test("An index for which there was no space is built when there is space")
  func limitedBuild() throws {
    let directory = try CrashDirectory()
    let child = try Child(
      ["limited-build", directory.path, "\(runSeed)", "40"], in: directory.path)
    let ending = try child.wait()
    #expect(ending == .exit(0), "seed \(runSeed): \(child.output)")
    let counts = child.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    print("builds without room: \(counts) refused and all, seed \(runSeed)")
    #expect(counts.count == 2 && counts[0] >= 10)
  }

  #if os(Linux)
    @Test("The lock file is not sparse, since access to a hole on a full disk kills a process")
    func lockFileHasBlocks() throws {
      let directory = try CrashDirectory()
      let store = try Store.forCrashes(at: directory.store)
      defer { store.close() }
      var status = stat()
      #expect(stat(directory.store + "-lock", &status) == 0)
      #expect(status.st_size == 1023 * 64 + 192)
      #expect(Int(status.st_blocks) * 512 >= Int(status.st_size))
    }
  #endif

  @Test("A file system that is full, and then has space again", .enabled(if: TinyDisk.isPossible))
  func fullFileSystem() throws {
    let directory = try CrashDirectory(onDisk: true)
    let disk = try TinyDisk(at: directory.path + "/disk", megabytes: 2)
    for seed in [runSeed, runSeed + 1] {
      let child = try Child(["full-disk", disk.path, "\(seed)"], in: directory.path)
      let ending = try child.wait()
      #expect(ending == .exit(0), "seed \(seed): \(child.output)")
      print(child.output, terminator: "")
    }
  }
}

/// A file system in memory of a few megabytes, where the system lets us make one.
private final class TinyDisk {
  let path: String

  init(at path: String, megabytes: Int) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard Self.run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path]) else {
      throw Mismatch("mount failed")
    }
  }

  deinit { _ = Self.run("umount", ["-l", path]) }

  static let isPossible: Bool = {
    #if os(Linux)
      guard getuid() == 0, let directory = try? CrashDirectory(onDisk: true),
        (try? TinyDisk(at: directory.path + "/try", megabytes: 1)) != nil
      else { return false }
      return true
    #else
      return false
    #endif
  }()

  private static func run(_ name: String, _ arguments: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/" + name)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
