CREATE TABLE orders (
  id bigint PRIMARY KEY,
  region text NOT NULL,
  amount numeric(10, 2) NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON orders (changed_at, id);
INSERT INTO orders (id, region, amount) VALUES (1, 'eu', 12.50), (2, 'us', 3.99), (3, 'eu', 100);
