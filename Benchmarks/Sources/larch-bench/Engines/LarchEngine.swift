#if !LARCH_STORE
  /// Nothing to compare yet.
  var larchPeers: [any Engine.Type] { [] }
#endif
