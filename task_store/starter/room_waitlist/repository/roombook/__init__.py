"""roombook: bookings and the waiting list of a few rehearsal rooms."""
