import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Reads that keep space")
struct OldReadTests {
  /// Overwrites all notes, in one transaction for each round.
  private func overwrite(_ store: Store, rounds: Range<Int>) throws {
    for round in rounds {
      try store.write { tx throws in
        try tx.update(Note.all) { $0.text = String(repeating: "\(round % 10)", count: 500) }
      }
    }
  }

  @Test(
    "An old snapshot under 1,000 batches is logged with place, age and bytes, and frees all"
  )
  func thousandBatches() throws {
    let messages = Messages()
    var options = messages.options
    options.oldReadWarning = .milliseconds(200)
    let store = try Store.temporary(for: Note.self, options: options)
    try store.add(0..<40, size: 500)
    try overwrite(store, rounds: 0..<50)
    let sizeBefore = store.fileSize

    let began = ContinuousClock.now
    let snapshot = try store.snapshot()
    let line = UInt(#line - 1)
    try overwrite(store, rounds: 0..<1000)
    let lasted = ContinuousClock.now - began
    let sizeHeld = store.fileSize
    #expect(sizeHeld > sizeBefore * 20, "what is kept cannot be used again")

    let told = messages.of(.oldRead)
    let last = try #require(told.last)
    #expect(last.level == .warning)
    #expect(last.details.place == CodePlace(file: #fileID, line: line))
    let age = try #require(last.details.ran)
    #expect(age > .zero && age <= lasted)
    let bytes = try #require(last.context.detail?.split(separator: " ").first.flatMap { Int($0) })
    // If the machine stopped this test once, the last report may be from its beginning.
    #expect(bytes > 0 && bytes < sizeHeld)
    #expect(last.context.detail?.hasSuffix("bytes kept by snapshot \(snapshot.version)") == true)
    // It is reported once, and again at twice the age.
    #expect(told.count <= 3 + Int(log2(max(1, lasted / .milliseconds(200)))), "\(told)")

    let read = try #require(try store.openReads().first)
    #expect(read.kind == .snapshot && read.place?.line == line && read.version == snapshot.version)
    // The snapshot keeps nearly all the space by which the file grew.
    let pinned = try #require(read.pinnedBytes)
    #expect(pinned > (sizeHeld - sizeBefore) * 8 / 10 && pinned < sizeHeld)
    #expect(try snapshot.fetch(Note.all).allSatisfy { $0.text.allSatisfy { $0 == "9" } })

    snapshot.end()
    #expect(try store.openReads().isEmpty)
    let quiet = messages.of(.oldRead).count
    try overwrite(store, rounds: 0..<1000)
    #expect(store.fileSize <= sizeHeld + sizeHeld / 50, "the space is used again")
    #expect(messages.of(.oldRead).count == quiet)
    #expect(try store.verify().isClean)
  }

  @Test("A long read is logged like a snapshot, with the place of its call")
  func longRead() throws {
    let messages = Messages()
    var options = messages.options
    options.oldReadWarning = .milliseconds(30)
    let store = try Store.temporary(for: Note.self, options: options)
    try store.add(0..<40, size: 500)
    let isReading = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let line = UInt(#line + 2)
    let reader = Worker {
      try store.read { tx throws in
        isReading.signal()
        mayEnd.wait()
        try #require(try tx.count(Note.all) == 40)
      }
    }
    isReading.wait()
    try overwrite(store, rounds: 0..<10)
    usleep(60_000)
    try overwrite(store, rounds: 0..<1)
    let open = try store.openReads()
    #expect(open.count == 1)
    #expect(open.first?.kind == .read && open.first?.place?.line == line)
    #expect(open.first?.place?.file == "LarchReaderTests/OldReadTests.swift")
    #expect((open.first?.thread ?? 0) != 0)
    #expect((open.first?.pinnedBytes ?? 0) > 0)
    let age = try #require(open.first).age
    #expect(age >= .milliseconds(60))
    mayEnd.signal()
    try reader.join()
    let told = try #require(messages.of(.oldRead).first)
    #expect(told.details.place?.line == line)
    #expect(told.message.hasPrefix("A read is open"))
    #expect(try store.openReads().isEmpty)
  }

  @Test("Reads that are short, or keep no space, are not reported")
  func silence() throws {
    let messages = Messages()
    var options = messages.options
    options.oldReadWarning = .milliseconds(20)
    let store = try Store.temporary(for: Note.self, options: options)
    try store.add(0..<40, size: 500)
    for round in 0..<20 {
      _ = try store.fetch(Note.all)
      try overwrite(store, rounds: round..<(round + 1))
      usleep(5_000)
    }
    // Old, but nothing was changed since: it keeps no space.
    let snapshot = try store.snapshot()
    usleep(60_000)
    try store.write { _ in }
    #expect(try store.openReads().first?.pinnedBytes == 0)
    #expect(messages.of(.oldRead).isEmpty)
    #expect(snapshot.isOpen)
  }

  @Test("A read that keeps much space is reported before it is old")
  func large() throws {
    let messages = Messages()
    var options = messages.options
    options.oldReadWarning = .seconds(3600)
    let store = try Store.temporary(for: Note.self, options: options)
    try store.add(0..<400, size: 2_000)
    let snapshot = try store.snapshot()
    for _ in 0..<4 {
      try overwrite(store, rounds: 0..<2)
      usleep(120_000)
    }
    let told = try #require(messages.of(.oldRead).first)
    #expect(messages.of(.oldRead).count == 1)
    let age = try #require(told.details.ran)
    #expect(age < .seconds(3600))
    #expect(snapshot.isOpen)
  }

  @Test("The kept bytes are those of the pages that commits have freed since")
  func pinnedBytes() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<400, size: 500)
    let first = try store.snapshot()
    try overwrite(store, rounds: 0..<3)
    let second = try store.snapshot()
    try overwrite(store, rounds: 0..<3)
    let reads = try store.openReads()
    #expect(reads.map(\.version) == [first.version, second.version])
    let (older, newer) = (try #require(reads[0].pinnedBytes), try #require(reads[1].pinnedBytes))
    // Each time that all records are overwritten, about the same space is freed.
    #expect(older > newer * 3 / 2 && older < newer * 3, "\(older) \(newer)")
    #expect(newer > 400 * 500 * 3 && newer % 4096 == 0)
    #expect(reads[0].description.hasPrefix("snapshot at LarchReaderTests/OldReadTests.swift:"))
  }

  @Test("Another process sees reads of this one, with its number, and what they keep")
  func otherProcess() async throws {
    let directory = try ReaderDirectory()
    // In the whole suite it may take a long time until the test continues after the other process.
    let options = Store.Options.quick.with { $0.maximumSnapshotAge = nil }
    let store = try Store(at: directory.store, for: Note.self, options: options)
    try store.add(0..<40, size: 500)
    let snapshot = try store.snapshot()
    let expected = "\(getpid()) \(snapshot.version)"
    try overwrite(store, rounds: 0..<20)
    await #expect(processExitsWith: .success) {
      [path = directory.store as String, expected = expected as String] in
      let messages = Messages()
      let other = try Store(at: path, for: Note.self, options: messages.options)
      let reads = try other.openReads().filter { $0.kind == .otherProcess }
      try #require(reads.count == 1)
      try #require("\(reads[0].process) \(reads[0].version)" == expected)
      try #require((reads[0].pinnedBytes ?? 0) > 100_000)
      try #require(reads[0].place == nil && reads[0].process == getppid())
      // The file grows, since the other process keeps everything: that is reported here.
      for _ in 0..<200 {
        try await other.write { tx throws in try tx.update(Note.all) { $0.text += "y" } }
      }
      let told = try #require(messages.of(.oldRead).first)
      try #require(told.message.hasPrefix("A read of another process"))
      try #require(told.context.detail?.hasSuffix("of process \(getppid())") == true)
      other.close()
    }
    #expect(try snapshot.fetch(Note.all).allSatisfy { $0.text.allSatisfy { $0 == "x" } })
  }

  @Test("Snapshots of a process that died are cleared when the file grows, and their space is used")
  func deadProcess() async throws {
    let messages = Messages()
    let directory = try ReaderDirectory()
    let store = try Store(at: directory.store, for: Note.self, options: messages.options)
    try store.add(0..<40, size: 500)
    try overwrite(store, rounds: 0..<20)
    let sizeBefore = store.fileSize
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = directory.store as String] in
      let other = try Store(at: path, for: Note.self, options: .quick)
      let snapshots = try (0..<3).map { _ in try other.snapshot() }
      try #require(snapshots.count == 3)
      kill(getpid(), SIGKILL)
    }
    try overwrite(store, rounds: 0..<500)
    #expect(messages.of(.staleReaders).count == 1)
    #expect(store.fileSize <= sizeBefore * 3, "\(sizeBefore) \(store.fileSize)")
    #expect(try store.openReads().isEmpty)
  }
}
