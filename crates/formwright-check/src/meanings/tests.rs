//! Rules, and files that break one hypothesis each.
