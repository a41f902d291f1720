"""The calendar: who has which room, and who waits for one."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from roombook.model import Booking, Member, WaitEntry

OPENS = time(8, 0)
CLOSES = time(22, 0)
LONGEST = timedelta(hours=2)


class RefusedError(Exception):
    """A booking breaks a house rule or cannot be changed."""


class Calendar:
    """Members, bookings (those of the past as well) and the waiting list."""

    def __init__(
        self,
        members: list[Member],
        bookings: list[Booking] | None = None,
        waiting: list[WaitEntry] | None = None,
    ) -> None:
        self.members = {member.name: member for member in members}
        self.bookings = {booking.number: booking for booking in bookings or []}
        self.waiting = list(waiting or [])

    def of_day(self, day: date) -> list[Booking]:
        """The bookings that begin on a day, by start and room."""
        found = [b for b in self.bookings.values() if b.start.date() == day]
        return sorted(found, key=lambda b: (b.start, b.room))

    def is_free(self, room: str, start: datetime, end: datetime) -> bool:
        """Whether nobody has the room in any minute of this time."""
        return not any(b.room == room and b.overlaps(start, end) for b in self.bookings.values())

    def book(self, member: str, room: str, start: datetime, end: datetime) -> Booking:
        """Book a room; raises RefusedError when a rule forbids it."""
        self._check(member, start, end)
        if not self.is_free(room, start, end):
            raise RefusedError(f"{room} is taken")
        booking = Booking(max(self.bookings, default=0) + 1, member, room, start, end)
        self.bookings[booking.number] = booking
        return booking

    def wait(
        self, member: str, room: str, start: datetime, end: datetime, now: datetime
    ) -> WaitEntry:
        """Put a member on the waiting list."""
        self._check(member, start, end)
        entry = WaitEntry(member, room, start, end, now)
        self.waiting.append(entry)
        return entry

    def cancel(self, number: int, now: datetime) -> Booking:
        """Take a booking out of the calendar and return it."""
        booking = self.bookings.get(number)
        if booking is None:
            raise RefusedError(f"there is no booking {number}")
        if now > booking.start:
            raise RefusedError(f"booking {number} has begun")
        del self.bookings[number]
        return booking

    def _check(self, member: str, start: datetime, end: datetime) -> None:
        if member not in self.members:
            raise RefusedError(f"{member} is not a member")
        if not start < end or end - start > LONGEST:
            raise RefusedError("a booking lasts two hours at most")
        if start.date() != end.date() or start.time() < OPENS or end.time() > CLOSES:
            raise RefusedError("the house is closed")
