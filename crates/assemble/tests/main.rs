//! Tests of listings: labels, places, errors.

mod listing;
