CREATE TABLE orders (
  id bigint PRIMARY KEY,
  customer text NOT NULL,
  amount numeric(12, 2) NOT NULL,
  ordered_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO orders (id, customer, amount) VALUES
  (1, 'Ada', 12.50),
  (2, 'Grace', 3.99),
  (3, 'Edsger', 100);
