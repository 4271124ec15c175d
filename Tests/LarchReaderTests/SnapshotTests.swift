import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Snapshots that last")
struct SnapshotTests {
  @Test("A snapshot gives the same answers in every way of asking, whatever is written")
  func sameAnswers() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<100)
    let snapshot = try store.snapshot()
    let query = Note.where { $0.number >= 50 }.sorted(by: \.number)
    let before = try snapshot.fetch(query)
    #expect(before.map(\.number) == Array(50..<100))
    try store.write { tx throws in
      try tx.delete(Note.where { $0.number >= 90 })
      try tx.update(Note.where { $0.number < 60 }) { $0.number += 1000 }
    }
    for round in 0..<50 { try store.add([2000 + round]) }

    #expect(try snapshot.fetch(query) == before)
    #expect(try query.fetch(in: snapshot) == before)
    #expect(try snapshot.count(Note.all) == 100)
    #expect(try snapshot.count(query) == 50)
    #expect(try snapshot.find(Note.self, before[0].id)?.number == 50)
    #expect(try snapshot.exists(Note.self, before[45].id))
    #expect(try snapshot.max(\.number, of: Note.all) == 99)
    #expect(try snapshot.ids(query) == before.map(\.id))
    var seen = 0
    try snapshot.forEach(query) { _ in seen += 1 }
    #expect(seen == 50)
    let sum = try snapshot.read { try $0.all(Note.self).reduce(0) { $0 + $1.number } }
    #expect(sum == 4950)
    #expect(try store.count(Note.all) == 140)
    #expect(try store.snapshot().count(Note.all) == 140)
  }

  @Test("A later snapshot has a greater version, and one of the same state the same")
  func versions() throws {
    let store = try Store.temporary(for: Note.self)
    let first = try store.snapshot()
    let same = try store.snapshot()
    try store.add([1])
    let later = try store.snapshot()
    #expect(first.version == same.version && later.version > first.version)
    #expect(first.age >= later.age)
  }

  @Test("A use inside a use of the same snapshot is a part of it, on one thread, at any depth")
  func nested() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<10)
    let snapshot = try store.snapshot()
    var pairs = 0
    try snapshot.forEach(Note.all) { outer throws in
      try snapshot.read { tx throws in
        #expect(try tx.find(Note.self, outer.id) == outer)
        try snapshot.forEach(Note.where { $0.number > outer.number }) { _ in pairs += 1 }
      }
    }
    #expect(pairs == 45)
    // The outer use goes on when an inner one has thrown.
    struct Stop: Error {}
    try snapshot.read { tx throws in
      #expect(throws: Stop.self) { () throws in try snapshot.read { _ throws in throw Stop() } }
      #expect(try tx.count(Note.all) == 10)
    }
  }

  @Test("A snapshot can be read inside a write, and written from while it is read")
  func besideWrites() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<20)
    let snapshot = try store.snapshot()
    try store.write { tx throws in
      try tx.erase(Note.self)
      #expect(try tx.count(Note.all) == 0)
      #expect(try snapshot.count(Note.all) == 20)
    }
    try snapshot.forEach(Note.all) { note in
      var copy = Note(note.number + 100)
      try store.write { tx throws in try tx.save(&copy) }
    }
    #expect(try store.count(Note.all) == 20)
    #expect(try snapshot.count(Note.all) == 20)
  }

  @Test("Inside a use, calls that name no store read the snapshot, and may not write")
  func ambient() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<3)
    let snapshot = try store.snapshot()
    try store.add(3..<9)
    try snapshot.read { _ throws in
      #expect(try Note.all.count() == 3)
      try store.write { _ throws in
        #expect(try Note.all.count() == 9)
        try snapshot.read { _ throws in #expect(try Note.all.count() == 3) }
      }
      var note = Note(1)
      #expect(larchError { try note.save() }?.code == .readOnly)
    }
  }

  @Test("A transaction of a snapshot is over with its closure")
  func transactionEnds() throws {
    let store = try Store.temporary(for: Note.self)
    let snapshot = try store.snapshot()
    var kept: ReadTransaction?
    try snapshot.read { kept = $0 }
    let transaction = try #require(kept)
    #expect(larchError { try transaction.count(Note.all) }?.code == .transactionEnded)
    try snapshot.read { _ throws in
      #expect(larchError { try transaction.count(Note.all) }?.code == .transactionEnded)
    }
  }

  @Test("An ended snapshot says where it was taken, ending twice is no error, and it keeps nothing")
  func ending() throws {
    let store = try Store.temporary(for: Note.self)
    let snapshot = try store.snapshot()
    let line = #line - 1
    #expect(snapshot.isOpen)
    #expect(try store.openReads().count == 1)
    snapshot.end()
    snapshot.end()
    #expect(!snapshot.isOpen)
    let error = larchError { try snapshot.count(Note.all) }
    #expect(error?.code == .snapshotEnded)
    #expect(error?.context.detail == "taken at LarchReaderTests/SnapshotTests.swift:\(line)")
    #expect(try store.openReads().isEmpty)
    do { _ = try store.snapshot() }
    #expect(try store.openReads().isEmpty, "one that is given up ends by itself")
  }

  @Test("Ended in the middle of a use, it lasts until the end of that use")
  func endingInUse() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<5)
    let snapshot = try store.snapshot()
    try snapshot.read { tx throws in
      snapshot.end()
      try store.write { tx throws in try tx.erase(Note.self) }
      #expect(try tx.count(Note.all) == 5)
      #expect(try snapshot.count(Note.all) == 5, "an inner use is a part of the outer one")
    }
    #expect(larchError { try snapshot.count(Note.all) }?.code == .snapshotEnded)
    #expect(try store.openReads().isEmpty)
  }

  @Test(
    "The store closes with its snapshots, which say so; another store of the file keeps its own")
  func closing() throws {
    let directory = try ReaderDirectory()
    let first = try Store(at: directory.store, for: Note.self, options: .quick)
    let second = try Store(at: directory.store, for: Note.self, options: .quick)
    try first.add([1])
    let ended = try first.snapshot()
    let kept = try second.snapshot()
    first.close()
    #expect(larchError { try ended.count(Note.all) }?.code == .closed)
    #expect(larchError { try first.snapshot() }?.code == .closed)
    #expect(try kept.count(Note.all) == 1)
    try kept.read { tx throws in
      second.close()
      #expect(try tx.count(Note.all) == 1, "the file is closed when the use has ended")
    }
    #expect(larchError { try kept.count(Note.all) }?.code == .closed)
    ended.end()
    kept.end()
    // Nothing is left of it: the file can be opened with options that an open one would refuse.
    var options = Store.Options()
    options.isReadOnly = true
    let third = try Store(at: directory.store, for: Note.self, options: options)
    #expect(try third.snapshot().count(Note.all) == 1)
  }

  @Test("A snapshot keeps its store open")
  func keepsStore() throws {
    let snapshot = try {
      let store = try Store.temporary(for: Note.self)
      try store.add(0..<4)
      return try store.snapshot()
    }()
    #expect(try snapshot.count(Note.all) == 4)
  }

  @Test("A snapshot of an older schema continues with its own indexes")
  func schemaChange() throws {
    let directory = try ReaderDirectory()
    let store = try Store(at: directory.store, for: Note.self, options: .quick)
    try store.add(0..<50)
    let snapshot = try store.snapshot()
    let query = Note.where { $0.number > 40 }
    let plan = try snapshot.explain(query).description
    // The index over numbers goes, and others come in its place.
    let other = try Store(at: directory.store, for: OtherNote.self, options: .quick)
    try other.write { tx throws in
      for number in 0..<50 {
        var note = OtherNote(number: number, text: "\(number)")
        try tx.save(&note)
      }
      try tx.delete(OtherNote.where { $0.text == "xxxxxxxxxx" })
    }
    #expect(larchError { try store.count(Note.all) }?.code == .schemaChanged)
    #expect(try snapshot.fetch(query).map(\.number).sorted() == Array(41..<50))
    #expect(try snapshot.count(Note.all) == 50)
    #expect(try snapshot.explain(query).description == plan)
    #expect(try other.count(OtherNote.all) == 50)
    other.close()
    #expect(try snapshot.fetch(query).count == 9)
  }

  @Test("Rebuilding indexes does not change an open snapshot")
  func rebuilding() throws {
    let store = try Store.temporary(for: Note.self)
    try store.add(0..<200)
    let snapshot = try store.snapshot()
    _ = try store.rebuild()
    try store.write { tx throws in try tx.delete(Note.where { $0.number < 100 }) }
    #expect(try snapshot.fetch(Note.where { $0.number < 100 }).count == 100)
    #expect(try store.verify().isClean)
  }
}
