import Foundation
import Larch
import LarchTestSupport

/// A small address book in a new store: what Larch does, and what the file then contains.
///
/// The store is created in a temporary folder, or at the path given as argument, where it stays.
@main
struct Demo {
  let narrator = Narrator()
  let path: String

  static func main() {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-demo-\(UUID().uuidString)")
    do {
      if let path = CommandLine.arguments.dropFirst().first {
        try Demo(path: path).run()
        print("\nDone. The store is in \(path).")
      } else {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Demo(path: folder.appendingPathComponent("addresses.larch").path).run()
        print("\nDone. The file was removed; name a path to keep it.")
      }
    } catch {
      print("\nThe demo failed: \(error)")
      exit(1)
    }
  }

  func run() throws {
    print("Larch: an address book in \(path)")
    try tour()
    try bulk()
    try queries()
    try reopen()
  }

  private func tour() throws {
    let store = try narrator.step("Opened a new store") {
      try Store(at: path, for: Contact.self)
    }
    defer { store.close() }

    narrator.title("Save, find, update, delete")
    var contacts = SampleContacts.first
    try narrator.step("Saved \(contacts.count) contacts in one transaction") {
      try store.write { tx in
        for index in contacts.indices { try tx.save(&contacts[index]) }
      }
    }
    let found = try narrator.step("Found the one with id \(contacts[0].id)") {
      try store.read { tx in try tx.find(Contact.self, contacts[0].id) }
    }
    guard var ada = found else { throw Surprise("the contact that was just saved is not there") }
    narrator.say("→ \(ada.name), \(ada.address.street), \(ada.address.city)")

    ada.address = Address(street: "Worthy Manor", city: "Porlock")
    ada.tags.append("engine")
    try narrator.step("She moved: updated her record") {
      try store.write { tx in try tx.update(ada) }
    }
    try narrator.step("Deleted \(contacts[2].name)") {
      _ = try store.write { tx in try tx.delete(contacts[2]) }
    }
    try refuseSecondAda(in: store)

    narrator.title("What is in the file: records, and every index")
    narrator.show(try store.dump())
  }

  /// A unique index refuses a record, and everything else in the transaction is undone too.
  private func refuseSecondAda(in store: Store) throws {
    var namesake = SampleContacts.first[0]
    do {
      try store.write { tx in try tx.save(&namesake) }
    } catch let error as LarchError where error.code == .uniqueConflict {
      narrator.say(
        "A second \(namesake.email ?? "") was refused: index \(error.context.index ?? "?") holds it for id \(error.context.otherID ?? "?")"
      )
      return
    }
    throw Surprise("two contacts share an e-mail address")
  }

  private func bulk() throws {
    narrator.title("Many at once")
    let store = try Store(at: path, for: Contact.self)
    defer { store.close() }
    var contacts = SampleContacts.many(10_000)
    try narrator.step("Saved 10,000 more, with three indexes", per: contacts.count) {
      try store.write { tx in
        for index in contacts.indices { try tx.save(&contacts[index]) }
      }
    }
    let sum = try narrator.step("Found each by its id, one snapshot", per: contacts.count) {
      try store.read { tx in
        try contacts.reduce(into: 0) { sum, contact in
          sum += try tx.find(Contact.self, contact.id)?.name.utf8.count ?? 0
        }
      }
    }
    try narrator.step("Checked the file: pages, checksums, indexes") {
      let report = try store.verify()
      guard report.isClean else { throw Surprise("the file is damaged: \(report)") }
    }
    guard sum == contacts.reduce(0, { $0 + $1.name.utf8.count }) else {
      throw Surprise("a contact came back with another name")
    }
  }

  private func queries() throws {
    narrator.title("Queries in plain Swift")
    let store = try Store(at: path, for: Contact.self)
    defer { store.close() }
    let all = try narrator.step("Read all contacts into an array") {
      try store.fetch(Contact.all)
    }
    let wanted = narrator.step("Filtered and sorted the array") {
      all.filter { $0.address.city == "London" && $0.tags.contains("sample") }
        .sorted { $0.name < $1.name }
    }
    let query = Contact.where { $0.address.city == "London" && $0.tags.contains("sample") }
      .sorted(by: \.name)
    let found = try narrator.step("The same as a query") { try store.fetch(query) }
    let first = try narrator.step("Its first ten") { try store.fetch(query.limit(10)) }
    let count = try narrator.step("Counted all in London, without reading one") {
      try store.count(Contact.where { $0.address.city == "London" })
    }
    narrator.say("→ \(count) in London, \(found.count) of them samples. How the ten were found:")
    narrator.show(try store.explain(query.limit(10), running: true))
    guard found.map(\.id) == wanted.map(\.id), first.map(\.id) == found.prefix(10).map(\.id),
      count == all.count(where: { $0.address.city == "London" })
    else { throw Surprise("a query and an array differ") }
  }

  private func reopen() throws {
    narrator.title("Closed and opened again")
    let store = try narrator.step("Opened") { try Store(at: path, for: Contact.self) }
    defer { store.close() }
    let count = try store.read { tx in try tx.count(Contact.all) }
    guard count == 10_003 else { throw Surprise("\(count) contacts instead of 10,003") }
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    narrator.say("→ \(count) contacts, \(size / count) bytes each with all indexes")
  }
}

/// An unexpected result of the store.
struct Surprise: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
