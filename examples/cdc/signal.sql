-- A row in this table asks the source connector for something, such as another snapshot.
CREATE TABLE debezium_signal (
  id varchar(64) PRIMARY KEY,
  type varchar(32) NOT NULL,
  data varchar(2048)
);
