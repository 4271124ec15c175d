import Larch

// The top level of a main.swift that awaits anything. Swift chooses there among overloads as in a
// synchronous function, with `await` and without, and then refuses what it chose.

struct Tag: Record {
  var id = RecordID<Tag>()
  var name: String
}

let store = try Store(at: "tags.larch", for: Tag.self)
try await store.write { try $0.erase(Tag.self) }  // error: put the call into an async function
try store.write { try $0.erase(Tag.self) }  // error: put the call into an async function
try await Store.transaction { try Tag.erase() }  // error: put the call into an async function
try await store.erase(Tag.self)  // error: use `try await store.write
try store.rebuild()  // error: put the call into an async function

// The right way is open.
func run() async throws {
  try await store.write { try $0.erase(Tag.self) }
}
try await run()
print(try store.count(Tag.all))
