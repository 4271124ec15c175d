internal import Foundation

/// The library that is loaded into a child to record its writes or to make them fail; see
/// `larch_recorder.h`. In a process that was started without it there is none.
package struct Recorder: Sendable {
  /// What a watched call does.
  package struct Calls: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let data = Calls(rawValue: 1)
    package static let meta = Calls(rawValue: 2)
    package static let flush = Calls(rawValue: 4)
    package static let directoryFlush = Calls(rawValue: 8)
    package static let length = Calls(rawValue: 16)
    package static let create = Calls(rawValue: 32)
    package static let name = Calls(rawValue: 64)
    package static let remove = Calls(rawValue: 128)
    package static let all: Calls = [
      .data, .meta, .flush, .directoryFlush, .length, .create, .name, .remove,
    ]
  }

  /// How a call fails.
  package struct Mode: OptionSet, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let once: Mode = []
    /// Every later call fails too.
    package static let forever = Mode(rawValue: 1)
    /// A write that fails has written the first half of its bytes.
    package static let torn = Mode(rawValue: 2)
    /// The first write that fails has written all of them, and could not bring them to the disk.
    package static let late = Mode(rawValue: 4)
    /// The process is killed in a write instead of getting an error for it.
    package static let killed = Mode(rawValue: 8)
  }

  private typealias Fail = @convention(c) (Int, Int32, Int32) -> Void
  private typealias Only = @convention(c) (Int32) -> Void
  private typealias Count = @convention(c) () -> Int
  private typealias Kind = @convention(c) () -> Int32
  private typealias Mark = @convention(c) (UInt32, UInt64, UInt64) -> Void

  private let failFunction: Fail
  private let onlyFunction: Only
  private let callsFunction: Count
  private let failuresFunction: Count
  private let failedKindFunction: Kind
  private let markFunction: Mark

  /// The recorder of this process; nil when it was started without one.
  package static let current = Recorder()

  private init?() {
    guard let fail = Self.find("larch_recorder_fail"), let only = Self.find("larch_recorder_only"),
      let calls = Self.find("larch_recorder_calls"),
      let failures = Self.find("larch_recorder_failures"),
      let failedKind = Self.find("larch_recorder_failed_kind"),
      let mark = Self.find("larch_recorder_mark")
    else { return nil }
    // The types are those of larch_recorder.h, and the addresses those of its functions.
    failFunction = unsafeBitCast(fail, to: Fail.self)
    onlyFunction = unsafeBitCast(only, to: Only.self)
    callsFunction = unsafeBitCast(calls, to: Count.self)
    failuresFunction = unsafeBitCast(failures, to: Count.self)
    failedKindFunction = unsafeBitCast(failedKind, to: Kind.self)
    markFunction = unsafeBitCast(mark, to: Mark.self)
  }

  private static func find(_ name: String) -> UnsafeMutableRawPointer? {
    // The program itself: it, and what was loaded along with it.
    dlsym(dlopen(nil, RTLD_NOW), name)
  }

  /// Counts calls from 1 again, of which number `call` fails; with 0 none does.
  package func fail(call: Int, mode: Mode = .once, code: Int32 = EIO) {
    failFunction(call, mode.rawValue, code)
  }

  /// Only such calls are counted and fail.
  package func watch(only calls: Calls) { onlyFunction(calls.rawValue) }

  /// Calls since the last `fail`.
  package var calls: Int { callsFunction() }

  /// How many of them have failed.
  package var failures: Int { failuresFunction() }

  /// What the first call did that has failed since then; empty when none has.
  package var failed: Calls { Calls(rawValue: failedKindFunction()) }

  /// Writes a mark into the log of the recording.
  package func mark(_ kind: UInt32, _ number: Int, detail: Int = 0) {
    markFunction(
      kind, UInt64(bitPattern: Int64(number)), UInt64(bitPattern: Int64(detail)))
  }
}

extension Recorder {
  /// The environment of a child that records, or whose calls can fail. `directory` is watched:
  /// files in it, but not those of which the name ends in `-lock`.
  package static func environment(
    directory: String, log: String? = nil, flushes: Bool = false,
    failing call: (number: Int, of: Calls, mode: Mode)? = nil
  ) throws -> [String: String] {
    guard let resolved = realpath(directory, nil) else { throw Mismatch("no folder \(directory)") }
    defer { free(resolved) }
    var environment = [
      "LD_PRELOAD": try Child.builtFile("libLarchRecorder.so").path,
      "LARCH_RECORDER_DIRECTORY": String(cString: resolved),
    ]
    environment["LARCH_RECORDER_LOG"] = log
    if !flushes { environment["LARCH_RECORDER_NO_FLUSH"] = "1" }
    if let call {
      environment["LARCH_RECORDER_FAIL"] = "\(call.number) \(call.mode.rawValue) \(EIO)"
      environment["LARCH_RECORDER_ONLY"] = "\(call.of.rawValue)"
    }
    return environment
  }

  /// False where there is no preloading, or it cannot be: elsewhere than on Linux, and under a
  /// sanitizer, which has to be loaded first itself.
  package static var isAvailable: Bool {
    #if os(Linux)
      ProcessInfo.processInfo.environment["LARCH_SANITIZER"] == nil
    #else
      false
    #endif
  }
}
