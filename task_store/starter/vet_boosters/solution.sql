WITH regular AS (
    SELECT patients.owner_id
    FROM visits
    JOIN patients USING (patient_id)
    WHERE visits.visited_on BETWEEN '2023-07-01' AND '2025-06-30'
    GROUP BY patients.owner_id
    HAVING COUNT(*) >= 5
),
boosters AS (
    SELECT patient_id, MAX(next_due_on) AS due_on
    FROM vaccinations
    WHERE vaccine = 'rabies'
    GROUP BY patient_id
)
SELECT branches.branch_name,
       COUNT(*) AS overdue_dogs,
       SUM((SELECT v.weight_kg FROM visits v WHERE v.patient_id = patients.patient_id
            ORDER BY v.visited_on DESC, v.weight_kg DESC LIMIT 1) >= 26) AS large_overdue_dogs
FROM patients
JOIN boosters USING (patient_id)
JOIN branches USING (branch_id)
JOIN owners USING (owner_id)
WHERE patients.species = 'dog'
  AND patients.died_on IS NULL
  AND julianday('2025-06-30') - julianday(boosters.due_on) > 24
  AND patients.owner_id IN (SELECT owner_id FROM regular)
  AND (owners.opted_out_on IS NULL OR owners.opted_out_on < '2024-12-01')
GROUP BY branches.branch_name
ORDER BY branches.branch_name
