import Larch

// The control: what a user may do with an error, in a module that is isolated to the main actor.
// swiftc: -default-isolation MainActor

func explain(_ error: LarchError) -> String {
  switch error.code {
  case .uniqueConflict: "\(error.context.index ?? "") is taken by \(error.context.otherID ?? "")"
  default: error.message
  }
}
