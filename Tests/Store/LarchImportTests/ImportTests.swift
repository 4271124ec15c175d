import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("An import saves elements as records")
struct ImportTests {
  private func failure(_ error: LarchError?) -> ImportFailure? {
    error?.underlying as? ImportFailure
  }

  @Test("Elements without an id are inserted, those with one inserted or updated")
  func byID() throws {
    try Store.scratch(Guest.self) { store throws in
      let first = try store.importJSON(
        Guest.self,
        from: .text(
          #"[{"name":"Ada","age":36}, {"id":7,"name":"Bob","age":1}, {"id":null,"name":"Cy","age":2}]"#
        ))
      #expect(first.inserted == 3 && first.elements == 3 && first.isComplete)
      #expect(try store.everything(Guest.self).map(\.id) == [1, 7, 8])
      #expect(try store.find(Guest.self, 1)?.role == "guest", "the declared default")
      let second = try store.importJSON(
        Guest.self,
        from: .text(
          """
          {"id":7,"name":"Bob","age":2,"role":"host"}
          {"id":1,"name":"Ada","age":36}
          {"id":20,"name":"Di","age":3}
          """))
      #expect(second.updated == 1 && second.unchanged == 1 && second.inserted == 1)
      #expect(try store.find(Guest.self, 7)?.role == "host")
    }
  }

  @Test("Elements without an id get new UUIDs; for other ids they are refused")
  func otherIDs() throws {
    struct Tagged: Record {
      var id = UUID()
      var name: String
    }
    struct Named: Record {
      var id: String
      var name: String
      static let schema = Schema<Named> { Unique(\.name) }
    }
    try Store.scratch(Tagged.self, Named.self) { store throws in
      try store.importJSON(Tagged.self, from: .text(#"[{"name":"a"},{"name":"b"}]"#))
      #expect(Set(try store.everything(Tagged.self).map(\.id)).count == 2)
      let text = #"[{"name":"a"},{"id":"x","name":"b"}]"#
      let error = caught { try store.importJSON(Named.self, from: .text(text)) }
      #expect(failure(error)?.index == 0 && failure(error)?.field == "id")
      #expect(try store.count(Named.all) == 0)
      // A record that is matched has its id already.
      try store.insertAll([Named(id: "k", name: "a")])
      let report = try store.importJSON(Named.self, from: .text(text), matching: \.name)
      #expect(report.unchanged == 1 && report.inserted == 1)
      #expect(try store.everything(Named.self).map(\.id) == ["k", "x"])
    }
  }

  @Test("Elements are matched by a unique field, and matched records keep their ids")
  func matching() throws {
    try Store.scratch(Guest.self) { store throws in
      try store.insertAll([
        Guest(name: "Ada", email: "a@x", age: 1, nickname: "A"), Guest(name: "No", age: 5),
      ])
      let text = """
        {"id":2,"name":"Ada L","email":"a@x","age":2}
        {"name":"Bob","email":"b@x","age":3}
        {"name":"Nil","age":4}
        {"id":2,"name":"Taken","email":"c@x","age":4}
        """
      let report = try store.importJSON(
        Guest.self, from: .text(text), matching: \.email, onError: .skip)
      #expect(report.updated == 1 && report.inserted == 2 && report.skipped == 1)
      #expect(report.failures.map(\.index) == [3] && report.failures[0].keyword == "id_exists")
      #expect(report.failures[0].line == 4)
      let ada = try #require(try store.find(Guest.self, 1))
      #expect(ada == Guest(id: 1, name: "Ada L", email: "a@x", age: 2))
      #expect(try store.find(Guest.self, 2)?.name == "No")
    }
  }

  @Test("A field that is not unique is refused, before anything is done")
  func unsuitableMatch() throws {
    try Store.scratch(Guest.self) { store throws in
      for policy in [ImportErrorPolicy.skip, .stop] {
        let error = caught {
          try store.importJSON(
            Guest.self, from: .text(#"[{"name":"a","age":1}]"#), matching: \.age, onError: policy)
        }
        #expect(error?.code == .unsuitableMatch && error?.context.field == "age")
      }
      #expect(try store.count(Guest.all) == 0)
    }
  }

  @Test("Merging keeps the fields that are missing in an element, and writes its nulls")
  func merging() throws {
    try Store.scratch(Guest.self) { store throws in
      let stored = Guest(name: "Ada", email: "a@x", age: 1, role: "host", nickname: "A")
      try store.insertAll([stored, Guest(name: "Bob", email: "b@x", age: 2, nickname: "B")])
      let text = """
        {"email":"a@x","age":2}
        {"email":"b@x","nickname":null}
        {"email":"c@x","name":"Cy","age":3}
        {"email":"d@x","name":"Di"}
        """
      let report = try store.importJSON(
        Guest.self, from: .text(text), matching: \.email, existing: .merge, onError: .skip)
      #expect(report.updated == 2 && report.inserted == 1 && report.skipped == 1)
      #expect(report.failures.first?.field == "age")
      var all = try store.everything(Guest.self)
      #expect(
        all[0] == Guest(id: 1, name: "Ada", email: "a@x", age: 2, role: "host", nickname: "A"))
      #expect(all[1] == Guest(id: 2, name: "Bob", email: "b@x", age: 2))
      let byID = try store.importJSON(
        Guest.self, from: .text(#"[{"id":1},{"id":2,"age":9},{"name":"E","age":1}]"#),
        existing: .merge)
      #expect(byID.unchanged == 1 && byID.updated == 1 && byID.inserted == 1)
      all = try store.everything(Guest.self)
      #expect(all[1].age == 9 && all.count == 4)
    }
  }

  @Test("Every failure is reported and the rest imported, or nothing is imported")
  func reasons() throws {
    let text = """
      [{"name":"Ada","email":"a@x","age":1},
       {"name":"Twin","email":"a@x","age":2},
       {"name":5,"age":1},
       {"age":1},
       {"name":"Deep","age":"x"},
       {"name":"Broken" "age":1},
       12,
       {"name":"Big","age":1.5},
       {"name":"Bob","age":3},]
      """
    try Store.scratch(Guest.self) { store throws in
      let report = try store.importJSON(Guest.self, from: .text(text), onError: .skip)
      #expect(report.inserted == 2 && report.skipped == 8 && report.isComplete)
      #expect(report.failures.map(\.index) == [1, 2, 3, 4, 5, 6, 7, 9])
      #expect(report.failures.map(\.line) == [2, 3, 4, 5, 6, 7, 8, 9])
      #expect(
        report.failures.map(\.keyword) == [
          "unique_conflict", "element_mismatch", "element_mismatch", "element_mismatch",
          "invalid_json", "element_mismatch", "element_mismatch", "invalid_json",
        ])
      #expect(report.failures.map(\.field).prefix(4) == [nil, "name", "name", "age"])
      let bytes = Array(text.utf8)
      #expect(bytes[report.failures[5].byteOffset] == UInt8(ascii: "1"))
      #expect(try store.everything(Guest.self).map(\.name) == ["Ada", "Bob"])
      #expect(try store.verify().isClean)
    }
    try Store.scratch(Guest.self) { store throws in
      let error = caught { try store.importJSON(Guest.self, from: .text(text)) }
      #expect(error?.code == .importStopped)
      #expect(failure(error)?.index == 1 && failure(error)?.keyword == "unique_conflict")
      #expect(try store.count(Guest.all) == 0)
    }
  }

  struct Checked: Record {
    struct Refused: Error {}
    var id: Int
    var value: Int

    static let schema = Schema<Checked> {
      WillSave { try $0.willSave(in: $1) }
    }

    mutating func willSave(in tx: WriteTransaction) throws {
      if value % 10 == 3 {
        var other = Guest(name: "left behind")
        try tx.insert(&other)
        throw Refused()
      }
      value += 1
    }
  }

  @Test("An error of a hook is a failure, and the changes of the hook are undone")
  func hooks() throws {
    try Store.scratch(Checked.self, Guest.self) { store throws in
      let text = (0..<40).map { "{\"id\":\($0),\"value\":\($0)}" }.joined(separator: "\n")
      let report = try store.importJSON(
        Checked.self, from: .text(text), onError: .skip, batchSize: 7)
      #expect(report.failures.map(\.index) == [3, 13, 23, 33])
      #expect(report.failures.allSatisfy { $0.reason is Checked.Refused })
      #expect(try store.count(Guest.all) == 0)
      #expect(try store.find(Checked.self, 5)?.value == 6)
    }
  }

  struct Ruled: Record {
    var id = RecordID<Ruled>()
    var name: String
    var email: String?
    static let schema = Schema<Ruled> {
      Validate(\.name, .presence, .length(...5))
      Validate(\.email, .uniqueness)
    }
  }

  @Test("Broken rules are failures, with fields and keywords; a uniqueness rule matches")
  func rules() throws {
    try Store.scratch(Ruled.self) { store throws in
      let text = """
        {"name":"a","email":"a@x"}
        {"name":" "}
        {"name":"abcdef"}
        {"name":"b","email":"a@x"}
        {"name":"c"}
        """
      let report = try store.importJSON(Ruled.self, from: .text(text), onError: .skip)
      #expect(report.inserted == 2)
      #expect(report.failures.map(\.line) == [2, 3, 4])
      #expect(
        report.failures.map(\.keyword) == ["cant_be_blank", "too_long", "already_exists"])
      #expect(report.failures.map(\.field) == ["name", "name", "email"])
      let update = #"[{"name":"d","email":"a@x"}]"#
      let matched = try store.importJSON(Ruled.self, from: .text(update), matching: \.email)
      #expect(matched.updated == 1)
      #expect(try store.everything(Ruled.self).map(\.name) == ["d", "c"])
    }
  }

  @Test("A transaction that runs twice counts once")
  func repeated() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    options.runsWritesTwice = true
    let store = try Store(at: path, for: Guest.self, options: options)
    defer { store.close() }
    let text = (0..<50).map { $0 % 10 == 9 ? "{}\n" : "{\"name\":\"n\",\"age\":1}\n" }.joined()
    let report = try store.importJSON(
      Guest.self, from: .text(text), onError: .skip, batchSize: 8)
    #expect(report.inserted == 45 && report.failures.map(\.index) == [9, 19, 29, 39, 49])
    let good = text.replacingOccurrences(of: "{}\n", with: "")
    #expect(try store.importJSON(Guest.self, from: .text(good)).inserted == 45)
    #expect(try store.count(Guest.all) == 90)
  }

  @Test("An import in a transaction is a part of it")
  func insideTransaction() throws {
    struct Stop: Error {}
    try Store.scratch(Guest.self) { store throws in
      let good = JSONSource.text(#"[{"name":"a","age":1}]"#)
      let bad = JSONSource.text(#"[{"name":"b","age":1},{}]"#)
      try? store.write { tx throws in
        try tx.importJSON(Guest.self, from: good)
        #expect(try tx.count(Guest.all) == 1)
        throw Stop()
      }
      #expect(try store.count(Guest.all) == 0)
      try store.write { tx throws in
        try tx.importJSON(Guest.self, from: good)
        #expect(caught { try tx.importJSON(Guest.self, from: bad) }?.code == .importStopped)
        #expect(try tx.importJSON(Guest.self, from: bad, onError: .skip).skipped == 1)
      }
      #expect(try store.everything(Guest.self).map(\.name) == ["a", "b"])
    }
  }

  @Test("An import without a store uses the ambient one")
  func ambient() throws {
    try Store.scratch(Guest.self) { store throws in
      try Store.with(store) {
        try Guest.importJSON(from: .text(#"[{"name":"a","email":"a@x","age":1}]"#))
        try Store.transaction {
          let text = #"[{"name":"b","email":"a@x","age":1}]"#
          #expect(try Guest.importJSON(from: .text(text), matching: \.email).updated == 1)
          throw Rollback()
        }
        #expect(try Guest.all.fetch().map(\.name) == ["a"])
        #expect(try !Guest.all.json().isEmpty)
        let inside = try store.read { _ in
          caught { try Guest.importJSON(from: .text("[{}]")) }?.code
        }
        #expect(inside == .readOnly)
      }
    }
  }

  @Test("ISO 8601 dates are read, and a custom decoder reads other names")
  func decoders() throws {
    struct Visit: Record {
      var id: Int
      var firstDay: Date
    }
    try Store.scratch(Visit.self) { store throws in
      var options = ImportOptions()
      options.makeDecoder = {
        let decoder = ImportOptions.defaultDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
      }
      let text = """
        {"id":1,"first_day":"2024-02-03T04:05:06Z"}
        {"id":2,"first_day":"2024-02-03T04:05:06.250+01:00"}
        {"id":3,"first_day":1.5}
        {"id":4,"first_day":"soon"}
        """
      let report = try store.importJSON(
        Visit.self, from: .text(text), onError: .skip, options: options)
      #expect(report.inserted == 3 && report.failures.map(\.line) == [4])
      let days = try store.everything(Visit.self).map(\.firstDay.timeIntervalSince1970)
      #expect(days[0] == 1_706_933_106)
      #expect(abs(days[1] - (1_706_933_106.25 - 3600)) < 1e-6)
    }
  }

  @Test("The report keeps the requested number of failures, and counts all")
  func failureLimit() throws {
    try Store.scratch(Guest.self) { store throws in
      var options = ImportOptions()
      options.failureLimit = 5
      let text = String(repeating: "{}\n", count: 100)
      let report = try store.importJSON(
        Guest.self, from: .text(text), onError: .skip, batchSize: 3, options: options)
      #expect(report.skipped == 100 && report.failures.map(\.index) == [0, 1, 2, 3, 4])
    }
  }

  @Test("Progress rises to all bytes, batch by batch")
  func progress() throws {
    try Store.scratch(Guest.self) { store throws in
      let text = (0..<95).map { "{\"name\":\"n\($0)\",\"age\":1}\n" }.joined()
      for policy in [ImportErrorPolicy.skip, .stop] {
        var seen: [Int] = []
        var last = 0.0
        try store.importJSON(
          Guest.self, from: .text(text), onError: policy, batchSize: 10
        ) { progress in
          seen.append(progress.elements)
          #expect(progress.fraction > last && progress.totalBytes == text.utf8.count)
          last = progress.fraction
        }
        #expect(seen == [10, 20, 30, 40, 50, 60, 70, 80, 90, 95] && last == 1)
      }
    }
  }

  @Test("Missing files and paths that are not files give errors")
  func files() throws {
    try Store.scratch(Guest.self) { store throws in
      #expect(
        caught { try store.importJSON(Guest.self, from: .file("/none")) }?.code == .fileNotFound)
      #expect(
        caught { try store.importJSON(Guest.self, from: .file("/tmp")) }?.code == .unsuitableFile)
      #expect(caught { try store.importJSON(Guest.self, from: .file("")) }?.code == .unsuitableFile)
    }
  }

  /// In asynchronous code the compiler said "use `try await`" for a call with `try await`: the call
  /// had no asynchronous form.
  @Test("Asynchronous imports use the named store or that of the task")
  func asynchronous() async throws {
    let store = try Store.temporary(for: Guest.self)
    let text = JSONSource.text(
      #"[{"name":"Ada","email":"a@b","age":1},{"name":"Ben","age":"old"}]"#)
    let steps = Locked(0)
    let report = try await Guest.importJSON(from: text, onError: .skip, in: store) { _ in
      steps.withLock { $0 += 1 }
    }
    #expect(report.inserted == 1 && report.failures.map(\.line) == [1])
    #expect(steps.withLock { $0 } > 0)
    try await Store.with(store) {
      let other = JSONSource.text(#"[{"name":"Eva","email":"a@b","age":1},{"name":"Eve","age":1}]"#)
      let report = try await Guest.importJSON(from: other, matching: \.email)
      #expect(report.inserted == 1 && report.updated == 1)
    }
    #expect(try store.fetch(Guest.all).map(\.name) == ["Eva", "Eve"])
    await #expect(throws: LarchError.self) { try await Guest.importJSON(from: text, in: store) }
    #expect(try store.count(Guest.all) == 2)
  }

  @Test("A cancelled import ends after a batch, and keeps the earlier ones")
  func cancelling() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, for: Guest.self)
    defer { store.close() }
    let text = (0..<5000).map { "{\"name\":\"n\($0)\",\"age\":1}\n" }.joined()
    let report = try await store.importJSON(Guest.self, from: .text(text), onError: .skip)
    #expect(report.inserted == 5000)
    for policy in [ImportErrorPolicy.skip, .stop] {
      let count = try await store.write { try $0.count(Guest.all) }
      let started = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      let task = Task {
        try await store.importJSON(
          Guest.self, from: .text(text), onError: policy, batchSize: 10
        ) { progress in
          guard progress.elements == 20 else { return }
          started.signal()
          goOn.wait()
        }
      }
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "cancel").async {
          started.wait()
          continuation.resume()
        }
      }
      task.cancel()
      goOn.signal()
      let result = await task.result
      #expect(throws: CancellationError.self) { try result.get() }
      let after = try await store.write { try $0.count(Guest.all) }
      #expect(after == count + (policy == .skip ? 20 : 0))
    }
  }
}
