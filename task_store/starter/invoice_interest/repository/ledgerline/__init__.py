"""ledgerline: invoices, payments and statements of a small workshop."""
