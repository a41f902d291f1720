WITH night_readings AS (
    SELECT sensors.house_id,
           CASE WHEN readings.hour >= 20 THEN readings.day ELSE date(readings.day, '-1 day') END
             AS night,
           readings.temp_c
    FROM readings
    JOIN sensors USING (sensor_id)
    WHERE (readings.hour >= 20 OR readings.hour <= 4)
      AND (readings.suspect = 0 OR readings.battery_v >= 3.15)
),
cold AS (
    SELECT house_id, night
    FROM night_readings
    WHERE night BETWEEN '2025-03-01' AND '2025-03-30'
    GROUP BY house_id, night
    HAVING MIN(temp_c) < 8.2
)
SELECT farms.farm_name, COUNT(*) AS cold_nights,
       ROUND(AVG(heating.energy_kwh), 1) AS energy_per_cold_night
FROM cold
JOIN heating ON heating.house_id = cold.house_id AND heating.day = cold.night
JOIN houses ON houses.house_id = cold.house_id
JOIN farms USING (farm_id)
WHERE cold.house_id IN (SELECT house_id FROM plantings WHERE planted_on >= '2025-02-03')
GROUP BY farms.farm_name
ORDER BY farms.farm_name
