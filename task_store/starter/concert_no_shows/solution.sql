WITH counted AS (
    SELECT ensembles.genre, events.event_id,
           scans.scanned_at IS NULL
             OR ROUND((julianday(scans.scanned_at) - julianday(events.starts_at)) * 1440) > 35
             AS is_no_show
    FROM events
    JOIN ensembles USING (ensemble_id)
    JOIN tickets USING (event_id)
    LEFT JOIN scans USING (ticket_id)
    WHERE date(events.starts_at) BETWEEN '2025-01-24' AND '2025-05-18'
      AND (SELECT COUNT(*) FROM tickets t WHERE t.event_id = events.event_id) >= 42
      AND (tickets.kind <> 'complimentary'
           OR julianday(date(events.starts_at)) - julianday(tickets.issued_on) >= 9)
)
SELECT genre, COUNT(DISTINCT event_id) AS events,
       ROUND(100.0 * SUM(is_no_show) / COUNT(*), 2) AS no_show_percent
FROM counted
GROUP BY genre
ORDER BY genre
