import LarchCrashSupport
import LarchTestSupport
import Testing

/// Processes that are killed while they write: no acknowledged write may be lost.
@Suite("Kill at any moment", .serialized)
struct KillTests {
  @Test("One writer, killed again and again")
  func oneWriter() throws {
    try loop(
      WriterModel.self, writers: 1, kills: amount("LARCH_KILLS", 1000) / 2, readers: 0)
  }

  @Test("Three writers and a reader at once, killed again and again")
  func threeWriters() throws {
    try loop(
      WriterModel.self, writers: 3, kills: amount("LARCH_KILLS", 1000) / 2, readers: 1)
  }

  @Test("Writers on a disk that is flushed at each commit")
  func onDisk() throws {
    try loop(
      WriterModel.self, writers: 2, kills: amount("LARCH_DISK_KILLS", 50), readers: 1, onDisk: true)
  }

  @Test("Two writers of texts with a search and a reader that searches, killed again and again")
  func searchedTexts() throws {
    let watch = try loop(
      TextState.self, writers: 2, kills: amount("LARCH_SEARCH_KILLS", 40), readers: 1)
    #expect(watch.hits > watch.kills, "seed \(runSeed)")
  }

  /// Lets children write, kills some of them, and compares the store with the models.
  @discardableResult
  private func loop<Model: KilledModel>(
    _ model: Model.Type, writers: Int, kills: Int, readers: Int, onDisk: Bool = false
  ) throws -> KillWatch<Model> {
    let directory = try CrashDirectory(onDisk: onDisk)
    let watch = KillWatch<Model>(writers: writers, directory: directory)
    do {
      try watch.run(kills: kills, readers: readers)
    } catch {
      Issue.record("seed \(runSeed), kill \(watch.kills): \(error)")
    }
    print(
      "\(writers) writers (\(model)): \(watch.kills) kills, \(watch.killedEarly) of them while opening,",
      "\(watch.models.map(\.done).reduce(0, +)) transactions,",
      "\(watch.unacknowledged) there but not acknowledged, \(watch.verified) full verifications,",
      "\(watch.hits) found by searches, seed \(runSeed)")
    #expect(watch.kills >= kills)
    return watch
  }
}
