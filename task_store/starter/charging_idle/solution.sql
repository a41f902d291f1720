WITH june AS (
    SELECT sessions.*, chargers.site_id, chargers.power_kw, drivers.account,
           ROUND((julianday(sessions.unplugged_at) - julianday(sessions.charge_ended_at)) * 1440)
             AS idle_min
    FROM sessions
    JOIN chargers USING (charger_id)
    JOIN drivers USING (driver_id)
    WHERE sessions.plugged_at LIKE '2025-06-%'
),
busy AS (
    SELECT site_id FROM june GROUP BY site_id HAVING COUNT(*) >= 70
)
SELECT sites.site_name,
       ROUND(SUM(MAX(june.idle_min - 17, 0)) / 60, 1) AS blocked_hours,
       ROUND(SUM(MAX(june.idle_min - 17, 0)) * 0.23, 2) AS lost_sales_eur
FROM june
JOIN sites USING (site_id)
WHERE june.power_kw >= 60
  AND june.site_id IN (SELECT site_id FROM busy)
  AND NOT (june.account = 'fleet' AND substr(june.plugged_at, 12) < '11:15')
GROUP BY sites.site_name
ORDER BY sites.site_name
