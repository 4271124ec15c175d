import Larch
import LarchTestSupport
import Testing

// The examples of docs/associations.md that load several associations, and change join records.

extension AssociationGuide {
  struct Note: Record {
    var id = RecordID<Note>()
    var text: String
    var writerID: Writer.ID

    static let writer = BelongsTo<Note, Writer>(\.writerID)
    static let labels = HasMany<Note, Label>(through: \Labelling.noteID, \Labelling.labelID)
    static let schema = Schema<Note> {
      writer
      labels
    }
  }

  struct Writer: Record {
    var id = RecordID<Writer>()
    var name: String

    static let notes = HasMany<Writer, Note>(\.writerID, onDelete: .destroy)
    static let schema = Schema<Writer> { notes }
  }

  struct Label: Record {
    var id = RecordID<Label>()
    var name: String
  }

  // snippet: association-join-record
  struct Labelling: Record {
    var id = RecordID<Labelling>()
    var noteID: Note.ID
    var labelID: Label.ID
    var addedBy: String

    static let schema = Schema<Labelling> { Unique(\.noteID, \.labelID) }
  }
  // end snippet
}

@Suite("The guide to associations: several at once, and join records")
struct SeveralAssociationsGuideTests {
  typealias Note = AssociationGuide.Note
  typealias Writer = AssociationGuide.Writer
  typealias Label = AssociationGuide.Label
  typealias Labelling = AssociationGuide.Labelling

  @Test("Join records are made and deleted, and several associations are fetched")
  func several() throws {
    let store = try Store.checked(
      for: Note.self, Writer.self, Label.self, Labelling.self)
    var ada = Writer(name: "Ada")
    var swift = Label(name: "swift")
    var birds = Label(name: "birds")
    var note = Note(text: "Swifts are fast", writerID: ada.id)
    try store.write { tx in
      try tx.save(&ada)
      note.writerID = ada.id
      try tx.save(&swift)
      try tx.save(&birds)
      try tx.save(&note)
    }
    // snippet: association-join-add
    try store.write { tx in
      try tx.add(swift, to: note.related(Note.labels)) {
        Labelling(noteID: $0, labelID: $1, addedBy: "ada")
      }
      try tx.replace(note.related(Note.labels), with: [swift.id, birds.id]) {
        Labelling(noteID: $0, labelID: $1, addedBy: "bo")  // called for birds only
      }
      try tx.remove(swift, from: note.related(Note.labels))  // deletes its join record
    }
    // end snippet
    #expect(try store.fetch(Labelling.all).map(\.addedBy) == ["bo"])

    // snippet: association-with-several
    let notes = Note.all.with(Note.writer).with(Note.labels)
    for (note, writer, labels) in try store.fetch(notes) {
      print(note.text, writer?.name ?? "nobody", labels.map(\.name))
    }
    // end snippet
    #expect(try store.fetch(notes).map { $0.1?.name } == ["Ada"])
    #expect(try store.fetch(notes).map { $0.2.map(\.name) } == [["birds"]])

    // snippet: association-with-nested
    let recent = Note.all.reversed().limit(3).with(Note.labels)
    for (writer, notes) in try store.fetch(Writer.all.with(Writer.notes, from: recent)) {
      for (note, labels) in notes { print(writer.name, note.text, labels.count) }
    }
    // end snippet
    let rows = try store.fetch(Writer.all.with(Writer.notes, from: recent))
    #expect(rows.map { $0.1.map { $0.1.count } } == [[1]])
    #expect(
      try store.explain(Writer.all.with(Writer.notes, from: recent)) == """
        all records
        with Note
          sort those of each record
          limit 3 for each record
          with Label
        """)
  }
}
