import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observations that end with an error")
struct ObservationErrorTests {
  private struct Failed: Error {}

  /// A stranger's list stopped following its data: the read had thrown, he had passed no `onError`,
  /// and nothing told him.
  @Test("without `onError`, the error is logged with the place of the call")
  func logged() async throws {
    let (stream, told) = AsyncStream.makeStream(of: LogMessage.self)
    var options = Store.Options()
    options.log = { if $0.level >= .warning { told.yield($0) } }
    // On a busy machine any operation may be slow.
    (options.slowRead, options.slowWrite) = (nil, nil)
    let store = try Store.temporary(
      for: Owner.self, Pet.self, Note.self, Tag.self, options: options)
    let line: UInt = #line + 1
    let request = store.observe(Owner.all.limit(-1)) { _ in }
    var messages = stream.makeAsyncIterator()
    let first = try #require(await messages.next())
    #expect(first.event == .observationFailed)
    #expect(first.event.rawValue == "observation_failed")
    #expect(first.level == .error)
    #expect(first.details.place == CodePlace(file: #fileID, line: line))
    #expect(first.context.detail == "invalid_query")
    #expect(first.context.path == store.path)

    try store.put(Tag(id: "secret", color: 1))
    let read = store.observe { tx in
      if try tx.count(Tag.all) == 1 { throw Failed() }
    } onChange: { _ in
    }
    let second = try #require(await messages.next())
    #expect(second.event == .observationFailed)
    #expect(second.context.detail == "Failed")
    #expect(!"\(second)".contains("secret"))
    withExtendedLifetime((request, read)) {}
  }

  /// Another stranger had no log either.
  @Test("without `onError` and without a log, it is written to standard error")
  func written() throws {
    let directory = try CrashDirectory()
    let child = try Child(["lost-observation", directory.store], in: directory.path)
    #expect(try child.wait() == .exit(0))
    #expect(
      child.output.contains(" larch error observation_failed: An observation ended with an error"))
    #expect(child.output.contains("unknown_collection"))
  }

  @Test("with `onError`, it is not logged")
  func handled() async throws {
    let (stream, told) = AsyncStream.makeStream(of: LogMessage.Event.self)
    var options = Store.Options()
    options.log = { if $0.level >= .warning { told.yield($0.event) } }
    (options.slowRead, options.slowWrite) = (nil, nil)
    let store = try Store.temporary(
      for: Owner.self, Pet.self, Note.self, Tag.self, options: options)
    let (errors, failed) = AsyncStream.makeStream(of: String.self)
    let token = store.observe(
      Owner.all.limit(-1), onError: { failed.yield("\($0)") }, onChange: { _ in })
    for await error in errors {
      #expect(error.contains("invalid_query"))
      break
    }
    store.close()
    // All that was to be logged is in the stream now.
    told.finish()
    var events: [LogMessage.Event] = []
    for await event in stream { events.append(event) }
    #expect(events.isEmpty)
    withExtendedLifetime(token) {}
  }
}
