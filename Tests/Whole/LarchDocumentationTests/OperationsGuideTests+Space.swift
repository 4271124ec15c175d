import Foundation
import Larch
import Testing

/// The examples of docs/operations.md about whole files.
@Suite("docs/operations.md: space")
struct SpaceGuideTests {
  @Test("A store is backed up, compacted and restored")
  func space() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("people.larch")
    let backupPath = folder.path("people-backup.larch")
    let store = try Store(at: path, for: ReadmeTests.Person.self, ReadmeTests.Company.self)
    defer { store.close() }
    for number in 0..<300 {
      var person = ReadmeTests.Person(
        name: "Ada", email: "\(number)@larch.example", age: 36, city: "London")
      try store.write { tx throws in try tx.save(&person) }
    }
    var told: [String] = []
    func show(_ text: String) { told.append(text) }
    // snippet: operations-backup
    try store.backup(to: backupPath) { step in
      show("\(Int(step.fraction * 100)) %")
    }
    // end snippet
    #expect(told.last == "100 %")
    try store.write { tx throws in try tx.erase(ReadmeTests.Person.self) }
    // snippet: operations-compact
    let result = try store.compact()
    show("\(result.bytesBefore) bytes before, \(result.bytesAfter) after")
    // end snippet
    #expect(result.bytesAfter < result.bytesBefore)
    #expect(try store.read { try $0.count(ReadmeTests.Person.all) } == 0)
    // snippet: operations-restore
    try Store.restore(from: backupPath, to: path, replacing: true)
    // end snippet
    #expect(try store.read { try $0.count(ReadmeTests.Person.all) } == 300)
  }
}
