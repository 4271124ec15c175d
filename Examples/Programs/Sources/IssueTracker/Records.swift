import Foundation
import Larch

struct Project: Record {
  var id: String  // "LARCH"
  var title: String

  static let issues = HasMany<Project, Issue>(\.projectID, onDelete: .destroy)
  static let schema = Schema<Project> {
    issues
    Validate(\.title, .presence)
  }
}

struct User: Record {
  var id = RecordID<User>()
  var name: String
  var email: String

  static let assigned = HasMany<User, Issue>(\.assigneeID, onDelete: .nullify)
  static let comments = HasMany<User, Comment>(\.authorID, onDelete: .deny)
  static let schema = Schema<User> {
    assigned
    comments
    Unique(\.email, options: .caseInsensitive)
  }
}

enum State: String, Codable, Sendable, IndexKey, CaseIterable { case open, started, done }

struct Issue: Record {
  var id = RecordID<Issue>()
  var projectID: Project.ID
  var title: String
  var text: String
  var state = State.open
  var priority = 3
  var assigneeID: User.ID?
  var updatedAt: Date

  /// What a search looks at: each word once, in lower case.
  var words: Set<String> {
    Set((title + " " + text).lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init))
  }

  static let project = BelongsTo<Issue, Project>(\.projectID)
  static let assignee = BelongsTo<Issue, User>(\.assigneeID)
  static let comments = HasMany<Issue, Comment>(\.issueID, onDelete: .destroy)
  static let labels = ManyToMany<Issue, Label>(named: "labels")
  static let schema = Schema<Issue> {
    project
    assignee
    comments
    labels
    Index(\.projectID, \.state, \.updatedAt)
    Index(\.words, name: "words")  // an entry for each word
    Validate(\.title, .presence)
    Validate(\.priority, .range(1...5))
  }
}

struct Comment: Record {
  var id = RecordID<Comment>()
  var issueID: Issue.ID
  var authorID: User.ID
  var text: String

  static let issue = BelongsTo<Comment, Issue>(\.issueID)
  static let author = BelongsTo<Comment, User>(\.authorID)
  static let schema = Schema<Comment> {
    issue
    author
  }
}

struct Label: Record {
  var id: String  // "bug"

  static let issues = ManyToMany<Label, Issue>(named: "labels")
  static let schema = Schema<Label> { issues }
}
