WITH overdue AS (
    SELECT loans.loan_id, copies.branch_id,
           julianday(COALESCE(loans.returned_on, '2025-05-31')) - julianday(loans.due_on) AS days
    FROM loans
    JOIN copies USING (copy_id)
    JOIN members USING (member_id)
    WHERE loans.lent_on BETWEEN '2024-01-01' AND '2024-12-31'
      AND members.born_on > date(loans.lent_on, '-13 years')
      AND loans.renewals < 3
)
SELECT branches.branch_name, COUNT(*) AS long_overdue_loans,
       ROUND(SUM(overdue.days) * 0.14, 2) AS loss_eur
FROM overdue
JOIN branches USING (branch_id)
WHERE overdue.days > 33
GROUP BY branches.branch_name
ORDER BY loss_eur DESC
