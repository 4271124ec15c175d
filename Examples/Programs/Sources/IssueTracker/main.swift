import Foundation
import Larch

/// An issue tracker: searches, boards and rules for what deleting does. It checks what it prints,
/// and ends with 1 where something is wrong.
func check(_ isRight: Bool, _ what: String) {
  guard !isRight else { return }
  print("wrong: \(what)")
  exit(1)
}

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("issues-\(UUID())")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let store = try Store(
  at: folder.appendingPathComponent("issues.larch").path,
  for: Project.self, User.self, Issue.self, Comment.self, Label.self)
defer { store.close() }

// MARK: Two projects

let start = Date(timeIntervalSince1970: 1_750_000_000)
var ada = User(name: "Ada", email: "ada@larch.example")
var bo = User(name: "Bo", email: "bo@larch.example")
var cy = User(name: "Cy", email: "cy@larch.example")
let nouns = ["parser", "window", "printer", "index", "login", "report"]
let faults = ["crashes", "is slow", "shows nothing", "forgets the last line"]

try store.write { tx in
  try tx.save(&ada)
  try tx.save(&bo)
  try tx.save(&cy)
  for name in ["bug", "later"] {
    var label = Label(id: name)
    try tx.save(&label)
  }
  for (id, title) in [("LARCH", "The store"), ("ELM", "The editor")] {
    var project = Project(id: id, title: title)
    try tx.save(&project)
    for number in 0..<300 {
      let noun = nouns[number % nouns.count]
      var issue = Issue(
        projectID: id, title: "The \(noun) \(faults[number % faults.count])",
        text: "Seen \(number) times, on \(number % 2 == 0 ? "Linux" : "macOS").",
        state: State.allCases[number % 3], priority: 1 + number % 5,
        assigneeID: number % 4 == 0 ? ada.id : number % 4 == 1 ? bo.id : nil,
        updatedAt: start.addingTimeInterval(Double(number * 60)))
      try tx.save(&issue)
      if number % 10 == 0 {
        for author in [ada, bo] {
          var comment = Comment(issueID: issue.id, authorID: author.id, text: "Me too.")
          try tx.save(&comment)
        }
      }
      if noun == "login" { try tx.add(issue, to: Label(id: "bug").related(Label.issues)) }
    }
  }
}
check(try store.count(Issue.all) == 600, "600 issues")
check(try store.count(Comment.all) == 120, "120 comments")

// MARK: Search

func search(_ text: String, in project: Project.ID) -> Query<Issue> {
  let words = text.lowercased().split(separator: " ").map(String.init)
  return Issue.where { issue in
    words.map { issue.words.contains($0) }.reduce(issue.projectID == project) { $0 && $1 }
  }
}

let found = try store.fetch(search("parser Linux crashes", in: "LARCH").sorted(by: \.updatedAt))
let everything = try store.fetch(Issue.all)
let expected = everything.filter {
  $0.projectID == "LARCH" && $0.words.isSuperset(of: ["parser", "linux", "crashes"])
}
check(!found.isEmpty && found.map(\.id) == expected.map(\.id), "the search finds what is there")
print("parser, linux, crashes: \(found.count) issues, the first: \(found[0].title)")
print(try store.explain(search("parser linux", in: "LARCH")))

// MARK: A board: what was touched last, page by page

var board = Issue.where { $0.projectID == "ELM" && $0.state == .open }
  .sorted(by: \.updatedAt, .descending).limit(40)
var seen: [Issue] = []
while true {
  let page = try store.page(board)
  seen += page.records
  guard let next = page.next else { break }
  board = board.after(next)
}
check(seen.count == 100, "100 open issues in pages of 40")
check(seen.map(\.updatedAt) == seen.map(\.updatedAt).sorted(by: >), "the newest first")
for (state, count) in try store.counts(by: \.state, of: Issue.where { $0.projectID == "ELM" }) {
  print("ELM \(state): \(count)")
  check(count == 100, "a third of ELM is \(state)")
}

let mine = try store.fetch(
  Issue.where { $0.assignee.email == "ada@larch.example" && $0.priority == 1 && $0.state != .done })
check(
  mine.count
    == everything.count { $0.assigneeID == ada.id && $0.priority == 1 && $0.state != .done },
  "the urgent issues of Ada")
let discussed = try store.count(Issue.where { !$0.comments.isEmpty })
check(discussed == 60, "60 issues have comments")
let bugs = try store.count(Label(id: "bug").related(Label.issues).where { $0.projectID == "LARCH" })
check(bugs == 50, "50 bugs of LARCH")
print("\(mine.count) urgent for Ada, \(discussed) discussed, \(bugs) bugs")

// MARK: Rules

do {
  try store.write { tx in
    var issue = Issue(projectID: "LARCH", title: " ", text: "", priority: 9, updatedAt: start)
    try tx.save(&issue)
  }
  check(false, "an issue without a title is refused")
} catch let error as LarchError where error.code == .invalid {
  print(
    error.validationErrors.map { "\($0.field ?? ""): \($0.keyword.rawValue)" }.joined(
      separator: ", "))
}
do {
  try store.write { tx in
    var other = User(name: "Other", email: "ADA@larch.example")
    try tx.save(&other)
  }
  check(false, "an e-mail address belongs to one")
} catch let error as LarchError where error.code == .uniqueConflict {
  check(error.context.otherID == "\(ada.id)", "the conflict names Ada")
}
do {
  try store.write { tx in try tx.delete(bo) }
  check(false, "Bo has comments, and stays")
} catch let error as LarchError where error.code == .deleteDenied {
  print("Bo stays: \(error.context.field ?? "")")
}

// MARK: Cascades

let elm = try store.find(Project.self, "ELM")!
let plan = try store.deletionPlan(for: elm)
check(plan.isAllowed, "a project may go")
print("\(plan)".split(separator: "\n").prefix(3).joined(separator: "\n"))  // the rest names each
try store.write { tx in
  try tx.delete(elm)
  try tx.delete(cy)  // nobody's
}
check(try store.count(Issue.all) == 300, "its issues went too")
check(try store.count(Comment.all) == 60, "and their comments")
check(try store.count(Label(id: "bug").related(Label.issues)) == 50, "and their labels")

try store.write { tx in
  try tx.delete(Comment.where { $0.authorID == bo.id })
  try tx.delete(bo)
}
check(try store.count(Issue.where { $0.assigneeID == bo.id }) == 0, "nobody is assigned to Bo")
check(try store.count(Issue.where { $0.assigneeID == nil }) == 225, "his issues are nobody's now")
check(try store.verify().isClean, "the store is sound")
print("issue tracker: fine")
