import Larch

struct Note: Record {
  var id = RecordID<Note>()
  var text: String
}

let store = try Store(at: "notes.larch", for: Note.self)
var note = Note(text: "Water the larch")
try store.write { tx in try tx.save(&note) }
for note in try store.fetch(Note.where { $0.text.contains("larch") }) {
  print(note.id, note.text)
}
