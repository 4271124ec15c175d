import Larch

/// A list of things to do, with its lines.
struct TodoList: Record {
  var id = RecordID<TodoList>()
  var title: String

  static let items = HasMany<TodoList, Item>(\.listID, onDelete: .destroy)
  static let schema = Schema<TodoList> { items }
}

struct Item: Record {
  var id = RecordID<Item>()
  var text: String
  var isDone = false
  var place: Int
  var listID: TodoList.ID

  static let list = BelongsTo<Item, TodoList>(\.listID)
  static let schema = Schema<Item> {
    list
    Index(\.listID, \.place)
    Validate(\.text, .presence)
  }
}
