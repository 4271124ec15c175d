import Foundation
import LarchCrashSupport
import Testing

/// The recorder itself, in the smallest program that writes a store.
@Suite("The recorder of writes", .serialized, .enabled(if: Recorder.isAvailable))
struct RecorderTests {
  @Test("A program that was started with the recorder finds it, and its calls fail on demand")
  func finds() throws {
    let directory = try CrashDirectory()
    let child = try Child(
      ["recorder-check", directory.store], in: directory.path,
      environment: try Recorder.environment(directory: directory.path))
    #expect(try child.wait() == .exit(0), "\(child.output)")
  }

  @Test("A program that was started without it has none")
  func missing() throws {
    let directory = try CrashDirectory()
    #expect(Recorder.current == nil)
    let child = try Child(["recorder-check", directory.store], in: directory.path)
    #expect(try child.wait() == .exit(1))
    #expect(child.output.contains("no recorder"))
  }
}
