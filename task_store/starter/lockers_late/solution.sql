WITH late AS (
    SELECT depots.region, COUNT(*) AS late_drop_offs
    FROM drop_offs
    JOIN parcels USING (parcel_id)
    JOIN sites USING (site_id)
    JOIN depots ON depots.depot_id = sites.depot_id
    WHERE drop_offs.dropped_at LIKE '2025-03-%'
      AND parcels.service <> 'return'
      AND substr(drop_offs.dropped_at, 12) >= '18:40'
      AND (drop_offs.scan_source <> 'manual' OR drop_offs.keyed_after_min <= 55)
    GROUP BY depots.region
),
active AS (
    SELECT depots.region, COUNT(*) AS active_sites
    FROM sites
    JOIN depots USING (depot_id)
    WHERE (SELECT COUNT(*) FROM drop_offs
           WHERE drop_offs.site_id = sites.site_id
             AND drop_offs.dropped_at LIKE '2025-03-%') >= 8
    GROUP BY depots.region
)
SELECT late.region, late.late_drop_offs,
       ROUND(1.0 * late.late_drop_offs / active.active_sites, 2) AS late_per_active_site
FROM late
JOIN active USING (region)
ORDER BY late_per_active_site DESC
