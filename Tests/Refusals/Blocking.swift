import Larch

// A write without `await` in an asynchronous function would block a thread that all tasks share.

struct Tag: Record {
  var id = RecordID<Tag>()
  var name: String

  static let others = ManyToMany<Tag, Tag>(named: "others")
}

func ofStores(_ store: Store, _ tag: Tag) async throws {
  var one = tag
  let others = tag.related(Tag.others)
  try store.write { tx in try tx.erase(Tag.self) }  // error: 'async' but is not marked
  try store.save(&one)  // error: use `try await
  try store.insert(&one)  // error: use `try await
  try store.update(tag)  // error: use `try await
  try store.update(&one)  // error: use `try await
  try store.delete(tag)  // error: use `try await
  try store.delete(Tag.self, tag.id)  // error: use `try await
  try store.delete(Tag.all)  // error: use `try await
  try store.update(Tag.all) { $0.name = "b" }  // error: use `try await
  try store.erase(Tag.self)  // error: use `try await
  _ = try store.findOrCreate(by: \.name, equals: "a") { Tag(name: "a") }  // error: use `try await
  try others.add(tag.id, in: store)  // error: use `try await
  try others.add(&one)  // error: use `try await
  try others.remove(tag)  // error: use `try await
  try others.removeAll()  // error: use `try await
  try others.replace(with: [tag.id])  // error: use `try await
  try store.add(tag.id, to: others)  // error: use `try await
  try store.add(tag, to: others)  // error: use `try await
  try store.add(&one, to: others)  // error: use `try await
  try store.add(contentsOf: [tag.id], to: others)  // error: use `try await
  try store.remove(tag.id, from: others)  // error: use `try await
  try store.remove(tag, from: others)  // error: use `try await
  try store.removeAll(from: others)  // error: use `try await
  try store.replace(others, with: [tag.id])  // error: use `try await
  _ = try store.importJSON(Tag.self, from: .text("[]"))  // error: 'async' but is not marked
  _ = try Tag.importJSON(from: .text("[]"), in: store)  // error: not marked
  _ = try Tag.importJSON(from: .text("[]"), matching: \.name, in: store)  // error: not marked
  try store.sync()  // error: 'async' but is not marked
  try store.backup(to: "copy.larch")  // error: 'async' but is not marked
  _ = try store.compact()  // error: 'async' but is not marked
  try store.rebuild()  // error: 'async' but is not marked
  try store.rebuild { _ in }  // error: 'async' but is not marked
  try Tag.all.delete(in: store)  // error: 'async' but is not marked
  try Tag.all.update(in: store) { $0.name = "b" }  // error: 'async' but is not marked
  _ = try store.save(contentsOf: [tag])  // error: use `try await Person.save(contentsOf: people,
}

func ofRecords(_ tag: Tag) async throws {
  var one = tag
  try Store.transaction { try Tag.erase() }  // error: 'async' but is not marked
  try one.save()  // error: 'async' but is not marked
  try one.insert()  // error: 'async' but is not marked
  try one.update()  // error: 'async' but is not marked
  try tag.delete()  // error: 'async' but is not marked
  _ = try tag.saved()  // error: 'async' but is not marked
  _ = try tag.inserted()  // error: 'async' but is not marked
  _ = try Tag.importJSON(from: .text("[]"))  // error: 'async' but is not marked
  try Tag.delete(tag.id)  // error: 'async' but is not marked
  try Tag.erase()  // error: 'async' but is not marked
  _ = try Tag.findOrCreate(by: \.name, equals: "a") { Tag(name: "a") }  // error: not marked
  try Tag.all.delete()  // error: 'async' but is not marked
  try Tag.all.update { $0.name = "b" }  // error: 'async' but is not marked
}

// Without an `await` in it, the closure of a task counts as a synchronous one.
func inTasks(_ store: Store) {
  Task { try store.write { try $0.erase(Tag.self) } }  // error: use `try await`
  Task { try store.delete(Tag.all) }  // error: use `try await
  Task { try await store.write { try $0.erase(Tag.self) } }
  Task { try store.erase(Tag.self) }  // error: use `try await store.write
  Task {
    var tag = Tag(name: "a")
    try store.save(&tag)  // error: use `try await store.write
    try tag.save()  // error: use `try await`
    try store.rebuild()  // error: use `try await`
  }
  Task { try await Tag.erase(in: store) }
  Task { try await store.rebuild { print($0.done) } }
}

// The right way is open, and in the closure of a write all are the synchronous ones.
func asItShouldBe(_ store: Store, _ tag: Tag) async throws {
  var one = try await Tag.findOrCreate(by: \.name, equals: "a", in: store) { Tag(name: "a") }
  one.name = "c"
  try await one.save(in: store)
  try await Tag.where { $0.name == "d" }.delete(in: store)
  try await Tag.where { $0.name == "d" }.update(in: store) { $0.name = "e" }
  _ = try await tag.saved(in: store)
  try await tag.delete(in: store)
  try await Tag.delete(tag.id, in: store)
  try await Tag.erase(in: store)
  try await Tag.importJSON(from: .text("[]"), in: store)
  try await Tag.importJSON(from: .text("[]"), matching: \.name, in: store) { print($0.fraction) }
  try await Tag.importJSON(from: .text("[]"), onError: .skip)
  try await store.write { tx in
    try tx.replace(tag.related(Tag.others), with: [tag.id])
    var other = try tx.findOrCreate(by: \.name, equals: "b") { Tag(name: "b") }
    try tx.add(&other, to: tag.related(Tag.others))
  }
}

func synchronous(_ store: Store, _ tag: Tag) throws {
  var one = try store.findOrCreate(by: \.name, equals: "a") { Tag(name: "a") }
  try store.add(&one, to: tag.related(Tag.others))
  try store.removeAll(from: tag.related(Tag.others))
}
